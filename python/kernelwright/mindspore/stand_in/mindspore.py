"""The module that `import mindspore` finds in processes that multiprocessing starts for a program of `kw
run`. They get its sys.path, which contains this folder, but not its import hook. Replaces itself by the
layer.
"""

from kernelwright.mindspore.runner import install

install()
