// Package transporttest holds the suite that every transport of mcpsession
// passes, for those who write a [transport.Connector] of their own.
//
//	func TestConformance(t *testing.T) {
//		transporttest.Run(t, func(t *testing.T) transporttest.Subject {
//			return transporttest.Subject{
//				Connector: transport.InMemory(func(transport.Argument) *mcp.Server {
//					return transporttest.NewServer()
//				}),
//			}
//		})
//	}
package transporttest

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// A Subject is one connector to be tried. Fields other than Connector may be
// zero; what can't be tried without them is skipped.
type Subject struct {
	// Connector leads to servers made by [NewServer]. If its transports are
	// [transport.Watched] that is tried too.
	Connector transport.Connector

	// Argument is what the connector is called with.
	Argument transport.Argument

	// Session is what the MCP client connects with, such as the protocol
	// version that makes a server keep a session.
	Session *mcp.ClientSessionOptions

	// Lose makes the server of a session go away by itself, as a crash would,
	// without the transport's Close. It may call tools of the session first.
	Lose func(t *testing.T, session *mcp.ClientSession)

	// Opened returns how many servers or sessions there have been so far.
	Opened func() int
}

// Run tries the connector, with a new subject for each subtest, one subtest
// after the other. A subtest fails if goroutines are left after it and the
// cleanups of its subject, so no test may run beside Run: don't call it in a
// parallel test.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	for _, trial := range []struct {
		name string
		try  func(*testing.T, Subject)
	}{
		{"Call", tryCall},
		{"StateIsKept", tryStateIsKept},
		{"SessionsAreSeparate", trySessionsAreSeparate},
		{"ConcurrentCalls", tryConcurrentCalls},
		{"LargeMessages", tryLargeMessages},
		{"CancelledCall", tryCancelledCall},
		{"SendsAreTracked", trySendsAreTracked},

		{"NothingBeforeConnect", tryNothingBeforeConnect},
		{"ConnectWhenDone", tryConnectWhenDone},
		{"ConnectTwice", tryConnectTwice},

		{"SessionClose", trySessionClose},
		{"CloseBeforeConnect", tryCloseBeforeConnect},
		{"CloseManyTimes", tryCloseManyTimes},
		{"CloseEndsCall", tryCloseEndsCall},

		{"Loss", tryLoss},
		{"LossEndsCall", tryLossEndsCall},
		{"LossThenClose", tryLossThenClose},
	} {
		t.Run(trial.name, func(t *testing.T) {
			failOnLeak(t) // before all other cleanups, so that it comes after them
			trial.try(t, newSubject(t))
		})
	}
}
