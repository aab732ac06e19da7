// Package examples holds programs that show mcpsession at work, each with what
// it takes to run it. It has no code of its own.
//
//   - quickstart: a workflow that computes on a scratch SQL database of its own,
//     and what it sees when the process that holds the database dies.
package examples
