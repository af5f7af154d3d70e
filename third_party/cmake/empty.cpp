// CMake wants a source for a library that consists of archives.
