// Package tests runs the devserver as its users do, as a process, and looks at what comes out.
//
// It isn't the package of the program, because a test of that would be linked with the whole Temporal server, and with
// -race compiled with it once more: ten minutes for tests that take one.
package tests
