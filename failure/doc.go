// Package failure holds the failures that a workflow can see of an MCP session
// and the functions that recognise them. It is for both sides: the worker makes
// them, the workflow asks what they are.
//
// Each failure is a [temporal.ApplicationError] whose type string is one of the
// constants here, so that it keeps its meaning through activities, child
// workflows, Nexus and clients in other languages. Two speakers are kept apart,
// as an RPC system keeps a peer's error apart from a broken connection:
//
//   - what the MCP server said: [TypeMCPProtocol], a JSON-RPC error;
//   - what mcpsession concluded: all others.
//
// As the failure of an activity each is non-retryable unless its comment says
// otherwise. What toolset hands to workflow code is the same failure once more,
// retryable, around the activity's: a workflow that returns it may be retried by
// its own retry policy, and a new run opens a new block.
package failure
