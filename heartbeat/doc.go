// Package heartbeat is how a session activity tells its own later attempts what
// it has done, and how it learns that it is no longer the session's host. It is
// for the worker side.
//
// # Who is authoritative
//
// The Temporal server is. It keeps the details of the last heartbeat of an
// activity and hands them to the next attempt, whatever ended the attempt before:
// a failure, a time-out, a killed process. A session activity therefore writes a
// [Marker] before it does what can't be done twice, and waits until the server
// has it.
//
//	attempt starts ─▶ (nothing) ─▶ may-be-open ─▶ opened ─▶ … the session's end
//	                                    │
//	                                    └─▶ cleared        (connecting failed)
//
//	what the next attempt finds   it may open
//	nothing, never ran before     yes
//	nothing, but it ran before    only once its block asks for a session: a reset
//	                              drops the details, and a retry has none when the
//	                              attempt before it never got to may-be-open
//	cleared                       yes
//	may-be-open, opened           no: host-lost
//	what it can't decode          no: host-lost
//
// [Decide] is this table and the only place that decides. Cleared is written by an
// attempt that was let open. One that gives up before puts back what it found: it
// can't say for the attempts before it that they hold no session.
//
// # One writer
//
// A [Writer] is one goroutine that sends every heartbeat of an attempt, each with
// the attempt's latest marker, over the client's awaited call. The SDK's own
// activity.RecordHeartbeat batches, throttles and drops errors, and a heartbeat
// without details erases the marker; two writers could send an older marker after
// a newer one. No marker that refuses a retry is ever followed by one that allows
// it, except may-be-open by cleared, which a stale may-be-open can only turn into
// a needless refusal.
//
// Beside marker and author a beat tells people how much the session has served, its
// [Tally], as of when it was sent. No decision goes by that: an attempt reads the
// first two details, of releases before the tally as well as after it.
//
// # Clocks
//
//   - Interval, a third of the heartbeat timeout and at most 20 s: when the next
//     beat is due. After one that failed it is due much sooner, so that a single
//     one without an answer does not end the lease.
//   - The beat's own deadline, an interval too, or half of the time that is left to
//     write a marker: how long one call may take, with what a codec takes to encode
//     the marker.
//   - The lease: the host owns the session until a heartbeat timeout has passed
//     since it *sent* the last beat that was acknowledged. The server counts from
//     when the beat arrived, which is later, so the host gives up first. It is
//     measured by the monotonic and by the wall clock, since a machine that
//     sleeps stops the former.
//
// What these can't see — a reset that drops the markers, a workflow reset, a host
// that was paused past its lease — is caught by the session's instance (package
// queue): markers make a loss known early, instances make it safe.
package heartbeat
