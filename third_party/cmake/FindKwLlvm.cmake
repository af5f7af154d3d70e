# kw::llvm: the static libraries of LLVM that emit objects for the host. Takes -DKW_LLVM_ROOT, else
# /usr/lib/llvm-22, else 19.
# (find_package(LLVM 22) is refused by LLVM 22.1's own version file.)
if(NOT KW_LLVM_ROOT)
  foreach(version 22 21 20 19)
    if(EXISTS /usr/lib/llvm-${version}/bin/llvm-config AND EXISTS /usr/lib/llvm-${version}/lib/libLLVMCore.a)
      set(KW_LLVM_ROOT /usr/lib/llvm-${version})
      break()
    endif()
  endforeach()
endif()
set(KwLlvm_CONFIG ${KW_LLVM_ROOT}/bin/llvm-config)
if(EXISTS ${KwLlvm_CONFIG})
  execute_process(COMMAND ${KwLlvm_CONFIG} --version
    OUTPUT_VARIABLE KwLlvm_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${KwLlvm_CONFIG} --includedir
    OUTPUT_VARIABLE KwLlvm_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(arch aarch64)
  else()
    set(arch x86)
  endif()
  execute_process(COMMAND ${KwLlvm_CONFIG} --link-static --libfiles
    core scalaropts transformutils ${arch}codegen ${arch}desc ${arch}info
    OUTPUT_VARIABLE files OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(KwLlvm_LIBRARIES UNIX_COMMAND "${files}")
endif()
find_library(KwLlvm_ZSTD NAMES libzstd.a zstd)
find_library(KwLlvm_Z NAMES libz.a z)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(KwLlvm
  REQUIRED_VARS KwLlvm_LIBRARIES KwLlvm_INCLUDE_DIR KwLlvm_ZSTD KwLlvm_Z VERSION_VAR KwLlvm_VERSION)
if(KwLlvm_FOUND AND NOT TARGET kw::llvm)
  add_library(kw::llvm INTERFACE IMPORTED)
  target_link_libraries(kw::llvm INTERFACE
    ${KwLlvm_LIBRARIES} ${KwLlvm_ZSTD} ${KwLlvm_Z} m ${CMAKE_DL_LIBS} pthread)
endif()
# LLVM's own linker, when it is installed beside LLVM
find_program(KwLld ld.lld PATHS ${KW_LLVM_ROOT}/bin NO_DEFAULT_PATH)
if(KwLld)
  add_link_options(-fuse-ld=lld -B${KW_LLVM_ROOT}/bin)
endif()
