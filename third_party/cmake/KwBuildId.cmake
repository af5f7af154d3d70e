# KW_BUILD_ID_CPP: a source with the hash of all sources, flags and the LLVM version, remade whenever one
# of them changes.
file(GLOB_RECURSE kw_id_sources CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/compiler/*.cpp
  ${CMAKE_SOURCE_DIR}/compiler/*.h
  ${CMAKE_SOURCE_DIR}/frontend/*.cpp ${CMAKE_SOURCE_DIR}/frontend/*.h
  ${CMAKE_SOURCE_DIR}/runtime/*.cpp ${CMAKE_SOURCE_DIR}/runtime/*.h)
set(KW_BUILD_ID_CPP ${CMAKE_BINARY_DIR}/build_id.cpp)
set(kw_id_flags "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS}")
string(TOUPPER "${CMAKE_BUILD_TYPE}" kw_id_type)
get_directory_property(kw_id_options COMPILE_OPTIONS)
string(REPLACE ";" " " kw_id_options "${kw_id_options}")
string(APPEND kw_id_flags " ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS_${kw_id_type}} ${kw_id_options}")
string(APPEND kw_id_flags " ${KW_SANITIZE} LLVM ${KwLlvm_VERSION}")
add_custom_command(OUTPUT ${KW_BUILD_ID_CPP}
  COMMAND ${CMAKE_COMMAND} -DOUT=${KW_BUILD_ID_CPP} -DROOT=${CMAKE_SOURCE_DIR} "-DFLAGS=${kw_id_flags}"
    -P ${CMAKE_CURRENT_LIST_DIR}/write_build_id.cmake
  DEPENDS ${kw_id_sources} ${CMAKE_CURRENT_LIST_DIR}/write_build_id.cmake
  COMMENT "Hashing the sources" VERBATIM)
