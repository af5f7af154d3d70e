# kw::xxhash: header-only use of Debian's libxxhash-dev.
find_path(KwXxhash_INCLUDE_DIR xxhash.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(KwXxhash REQUIRED_VARS KwXxhash_INCLUDE_DIR)
if(KwXxhash_FOUND AND NOT TARGET kw::xxhash)
  add_library(kw::xxhash INTERFACE IMPORTED)
  target_include_directories(kw::xxhash SYSTEM INTERFACE ${KwXxhash_INCLUDE_DIR})
  target_compile_definitions(kw::xxhash INTERFACE XXH_INLINE_ALL)
endif()
