// Package mcpsession gives Temporal workflows stateful MCP sessions. It has no
// code of its own: workflow code uses package toolset, workers use packages
// session and transport, and both use package failure to tell what went wrong.
package mcpsession
