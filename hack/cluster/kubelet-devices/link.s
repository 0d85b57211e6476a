// Empty: with an assembly file in the package, the Go compiler accepts the
// function without a body in manager_at.go.
