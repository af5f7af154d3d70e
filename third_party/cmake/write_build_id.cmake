# Writes build_id.cpp (called by KwBuildId.cmake at build time).
file(GLOB_RECURSE sources ${ROOT}/compiler/*.cpp ${ROOT}/compiler/*.h ${ROOT}/frontend/*.cpp
  ${ROOT}/frontend/*.h
  ${ROOT}/runtime/*.cpp ${ROOT}/runtime/*.h)
list(SORT sources)
set(all "${FLAGS}")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  file(RELATIVE_PATH name ${ROOT} ${source})
  string(APPEND all "\n${name} ${hash}")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 32 id)
set(text "// Generated from the hash of all sources.\n")
string(APPEND text "#include \"support/build_id.h\"\n\nnamespace kw {\n\nstd::string_view build_id()")
string(APPEND text " { return \"${id}\"; }\n\n}  // namespace kw\n")
file(WRITE ${OUT}.new "${text}")
configure_file(${OUT}.new ${OUT} COPYONLY)
