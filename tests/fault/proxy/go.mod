// The fault proxy needs nothing but Go's own library.
module gpuqos.io/tests/fault/proxy

go 1.24
