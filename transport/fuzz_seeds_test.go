//go:build unix

package transport_test

import "strings"

// What a server says that behaves, a turn a message: nothing before the first, the
// answer to initialize, nothing to the notice after it, and the answers to what
// useAll asks.
const (
	helloed = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}}` + "\n"
	listed  = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}` + "\n"
	called  = `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"one"}]}}` + "\n"
)

// behaved is a server that behaves until it says what is given, in its last turns.
func behaved(turns ...string) []string {
	return append([]string{"", helloed, ""}, turns...)
}

// serverScripts are the cases of the tests' table of servers that misbehave, and
// some in which only a byte is wrong.
var serverScripts = [][]string{
	{}, // says nothing
	behaved(listed, called,
		`{"jsonrpc":"2.0","id":4,"result":{"prompts":[{"name":"p"}]}}`+"\n",
		`{"jsonrpc":"2.0","id":5,"result":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}}`+"\n",
		`{"jsonrpc":"2.0","id":6,"result":{"resources":[{"uri":"r:","name":"r"}]}}`+"\n",
		`{"jsonrpc":"2.0","id":7,"result":{"resourceTemplates":[{"uriTemplate":"r:{x}","name":"r"}]}}`+"\n",
		`{"jsonrpc":"2.0","id":8,"result":{"contents":[{"uri":"r:","text":"x"}]}}`+"\n",
		`{"jsonrpc":"2.0","id":9,"result":{}}`+"\n",
		`{"jsonrpc":"2.0","id":10,"result":{"content":[]}}`+"\n"),

	// In the handshake.
	{"", helloed[:80]},
	{"", strings.TrimSpace(helloed)},
	{"", strings.Replace(helloed, "2025-11-25", "1999-01-01", 1)},
	{"", `{"jsonrpc":"2.0","id":1,"result":null}` + "\n", "", listed},
	{"", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":null,"serverInfo":null}}` + "\n", "", listed, called},
	{"", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05"}}` + "\n", "", "[" + strings.TrimSpace(listed) + "]\n", called},
	{"", `{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}` + "\n"},
	{"", `{"jsonrpc":"2.0","id":1}` + "\n"},
	{helloed},
	{"Welcome!\n\n> ", "not you\n" + helloed, "noise\r\n", listed + "more\n", "even " + called},
	{"", `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n" + helloed, "", listed, called},

	// Answers.
	behaved(listed, strings.Replace(called, `"id":3`, `"id":33`, 1)),
	behaved(listed, strings.Replace(called, `"id":3`, `"id":"3"`, 1)),
	behaved(listed, strings.Replace(called, `"id":3`, `"id":null`, 1)),
	behaved(listed, strings.Replace(called, `"id":3`, `"id":[3]`, 1)),
	behaved(listed, strings.Replace(called, `"id":3`, `"id":3.5`, 1)),
	behaved(listed, strings.Replace(called, `"id":3`, `"id":1e400`, 1)),
	behaved(listed, strings.Replace(called, `"2.0"`, `"1.0"`, 1)),
	behaved(listed+listed, called+called),
	behaved("["+strings.TrimSpace(listed)+"]\n", "["+strings.TrimSpace(called)+","+strings.TrimSpace(called)+"]\n"),
	behaved(`[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]` + "\n"),
	behaved(`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":1,"method":"b"}]` + "\n"),
	behaved("[[" + strings.TrimSpace(listed) + "]]\n"),
	behaved(strings.TrimSpace(listed)+" "+listed, called),
	behaved(strings.TrimSpace(listed)+"}", "\n"+called),
	behaved(`{"jsonrpc":"2.0","id":2,"result":5}`+"\n", `{"jsonrpc":"2.0","id":3,"result":{"content":5}}`+"\n"),
	behaved(`{"jsonrpc":"2.0","id":2,"result":{"tools":[null,{}]}}`+"\n", `{"jsonrpc":"2.0","id":3,"result":null}`+"\n"),
	behaved(`{"jsonrpc":"2.0","id":2,"result":{"tools":null,"nextCursor":"x"}}`+"\n", `{"jsonrpc":"2.0","id":3,"result":{"content":[null]}}`+"\n"),
	behaved(`{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"both"}}`+"\n", `{"jsonrpc":"2.0","id":3,"error":{}}`+"\n"),
	behaved(`{"jsonrpc":"2.0","id":2,"error":{"code":-32003,"message":"mine"}}`+"\n", `{"jsonrpc":"2.0","id":3,"error":{"code":-32005,"message":"rejected by transport"}}`+"\n"),
	behaved(`{"jsonrpc":"2.0","id":2,"error":"text"}`+"\n", `{"jsonrpc":"2.0","id":3,"error":null}`+"\n"),
	behaved(`{"jsonrpc":"2.0","id":2,"result":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+"}\n", called),
	behaved(`{"jsonrpc":"2.0","id":2,"result":{"x":"`+strings.Repeat("x", 1<<17)+`"}}`+"\n", called),
	behaved(strings.Repeat("x", 1<<17)+"\n"+listed, called),
	behaved("\xff\xfe"+listed, "\x00"+called, "\ufeff"+called),

	// What the server asks and says of itself.
	behaved(listed, `{"jsonrpc":"2.0","id":"a","method":"sampling/createMessage","params":{}}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","id":"a","method":"roots/list"}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{"message":"?","requestedSchema":5}}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","id":"a","method":"no/such"}`+"\n"+`{"jsonrpc":"2.0","id":"a","method":"ping"}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","id":3,"method":"ping","result":{}}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":5}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":null}}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","method":"notifications/message","params":null}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","method":"notifications/no/such"}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","method":""}`+"\n"+`{"jsonrpc":"2.0","id":"b","method":""}`+"\n"+called),
	behaved(listed, `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}`+"\n"+called),
}
