// Package launch gives a test, an example or a measurement a Temporal server to talk to.
//
// [Connect] takes the server that the Temporal client configuration names, by TEMPORAL_ADDRESS or by a profile in
// temporal.toml. When it names none, Connect starts a devserver: a process of its own on a free port of the loopback
// interface, its database in memory, that ends with [Server.Stop] or with the process that started it, also when that is
// killed.
//
// The program of the devserver is built once, from the checkout that the working directory is in, and kept under the user's
// cache directory. The first build on a machine compiles the whole Temporal server and takes about seven minutes; run the
// command devserver-build beforehand to have that apart from the tests and their timeouts. Needed are the go command and,
// for the first build, the module proxy.
//
// The package itself depends on the Temporal SDK only, so that whoever uses it doesn't depend on the Temporal server.
package launch
