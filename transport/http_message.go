package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxErrorBody is how much of the body of a failed request is read.
	maxErrorBody = 64 << 10
	// maxSaid is how much of it a failure repeats.
	maxSaid = 300
)

// Methods that mean something to a transport.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodDiscover    = "server/discover" // the handshake of the versions without sessions
	methodCancelled   = "notifications/cancelled"
)

// A message is what a request over HTTP carries.
type message struct {
	id      jsonrpc.ID // valid for a call
	method  string
	cancels jsonrpc.ID // the call that it cancels, if it is the notice of that
}

// readMessage returns the message of a POST, from a copy of its body.
func readMessage(request *http.Request) (m message) {
	if request.GetBody == nil {
		return m
	}
	body, err := request.GetBody()
	if err != nil {
		return m
	}
	defer func() { _ = body.Close() }()
	var head struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	if json.NewDecoder(body).Decode(&head) != nil {
		return m
	}
	m.method = head.Method
	switch m.method {
	case "": // our answer to a request of the server's
	case methodCancelled:
		m.cancels = readCancelled(request)
	default:
		m.id, _ = jsonrpc.MakeID(head.ID)
	}
	return m
}

func readCancelled(request *http.Request) (id jsonrpc.ID) {
	body, err := request.GetBody()
	if err != nil {
		return id
	}
	defer func() { _ = body.Close() }()
	var notice struct {
		Params struct {
			RequestID any `json:"requestId"`
		} `json:"params"`
	}
	if json.NewDecoder(body).Decode(&notice) == nil {
		id, _ = jsonrpc.MakeID(notice.Params.RequestID)
	}
	return id
}

func (m message) isCall() bool { return m.id.IsValid() }

// opens reports whether the message is one of the handshake, before which there
// is no session.
func (m message) opens() bool { return m.method == methodInitialize || m.method == methodDiscover }

// handshake reports whether the message is part of the handshake at all.
func (m message) handshake() bool { return m.opens() || m.method == methodInitialized }

// An answer is a JSON-RPC response as servers really send it: the id may be null,
// or made up.
type answer struct {
	id  jsonrpc.ID
	rpc *jsonrpc.Error
}

// parseAnswer reports whether the data is a JSON-RPC response.
func parseAnswer(data []byte) (a answer, ok bool) {
	var wire struct {
		Version string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  json.RawMessage `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   *jsonrpc.Error  `json:"error"`
	}
	if json.Unmarshal(data, &wire) != nil || wire.Version != "2.0" || wire.Method != nil || (wire.Result == nil) == (wire.Error == nil) {
		return a, false
	}
	a.rpc = wire.Error
	a.id, _ = jsonrpc.MakeID(wire.ID)
	return a, true
}

// encodeError returns the response that gives a call its error.
func encodeError(id jsonrpc.ID, rpc *jsonrpc.Error) []byte {
	data, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: rpc})
	if err != nil {
		// Its data is no JSON.
		data, _ = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: rpc.Code, Message: rpc.Message}})
	}
	return data
}

// mediaType returns what kind of content a response has.
func mediaType(response *http.Response) string {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// jsonResponse is the response in which the MCP SDK gets an answer.
func jsonResponse(request *http.Request, header http.Header, data []byte) *http.Response {
	header = header.Clone()
	header.Set("Content-Type", "application/json")
	header.Del("Content-Length")
	return newResponse(request, http.StatusOK, header, io.NopCloser(bytes.NewReader(data)))
}

func newResponse(request *http.Request, status int, header http.Header, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: -1, Request: request,
	}
}
