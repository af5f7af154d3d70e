"""The checkers, one module per test file. Each takes {path: text} and returns lines
`file:line: what is wrong`; none reads the disk, so a sample tests them as well as the tree.
"""
