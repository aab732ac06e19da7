package auth

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/mcpsession/mcpsession/tests/fixture"
)

// tap writes all requests of a client to the Temporal server, as they are on the wire,
// and the failures that come back.
func tap(to io.Writer) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if message, ok := request.(proto.Message); ok {
			raw, _ := proto.Marshal(message)
			_, _ = to.Write(append([]byte("\n"+method+"\n"), raw...))
		}
		err := invoke(ctx, method, request, reply, connection, options...)
		if err != nil {
			_, _ = fmt.Fprintln(to, method, err)
		}
		return err
	})
}

// A place is one that the library or the SDK writes to. Other places come here.
type place struct {
	name string
	read func(*plantation) []byte
	// holds is what is in it in any case: else nothing was looked at.
	holds []string
	// inherent is the kind of secret that stands there, as who put it there knows.
	inherent string
}

var places = []place{
	{"the requests of the host to Temporal", inFile("wire"), []string{"RespondActivityTaskCompleted", "RecordActivityTaskHeartbeat", `"openedAt"`, "argument-that-flows", "[redacted]"}, ""},
	{"the host's metrics", inFile("metrics"), []string{"temporal_activity", "mcp.bearer.call-tool"}, ""},
	{"the host's stdout", inFile("stdout"), []string{"ready"}, ""},
	{"the host's stderr: SDK logger, slog's default, servers over stdio", inFile("stderr"), []string{"unhappy with [redacted]", "terminated with [redacted]", "Namespace"}, ""},
	{"the files that the host has left in its temporary directory", (*plantation).temporary, nil, ""},
	{"the requests of workflows and clients to Temporal", func(p *plantation) []byte { return p.wire.bytes() }, []string{"StartWorkflowExecution", "RespondWorkflowTaskCompleted"}, ""},
	{"the log of workflows and clients", func(p *plantation) []byte { return p.log.bytes() }, []string{"Namespace"}, ""},
	{"the histories", (*plantation).histories, []string{"argument-that-flows", "[redacted]", "mcp.oauth.session", "relayed from stdio: ", "relayed from loaded: "}, ""},
	{"what Temporal shows of open runs, heartbeats among it", func(p *plantation) []byte { return p.described.Bytes() }, []string{"mcp-session-opened", `"calls":`}, ""},
	{"what workflows saw of errors", func(p *plantation) []byte { return []byte(p.texts("texts")) }, []string{"[redacted]", "unauthorized", "server-gone"}, ""},
	{"what clients saw of errors", func(p *plantation) []byte { return p.errors.Bytes() }, []string{"[redacted]", "unauthorized", "server-gone"}, ""},
	{"the arguments of processes", func(p *plantation) []byte { return p.arguments.Bytes() }, []string{"auth.test"}, "argument"},
}

func inFile(name string) func(*plantation) []byte {
	return func(p *plantation) []byte {
		raw, err := os.ReadFile(filepath.Join(p.config.Written, name))
		if err != nil {
			p.Error(err)
		}
		return raw
	}
}

// temporary returns the names and contents of all files there.
func (p *plantation) temporary() []byte {
	var all bytes.Buffer
	err := filepath.WalkDir(filepath.Join(p.config.Written, "tmp"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		fmt.Fprintln(&all, path)
		all.Write(raw)
		return err
	})
	if err != nil {
		p.Error(err)
	}
	return all.Bytes()
}

func (p *plantation) histories() []byte {
	var all bytes.Buffer
	for _, d := range p.drivers {
		events := p.Client.GetWorkflowHistory(p.Ctx, d.run.GetID(), d.run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				p.Fatal(err)
			}
			raw, err := proto.Marshal(event) // in JSON the payloads would be base64
			if err != nil {
				p.Fatal(err)
			}
			all.Write(raw)
		}
	}
	return all.Bytes()
}

// look notes what is shown while a run is open: what Temporal describes, memo and
// search attributes among it, and the arguments of the host's processes.
func (p *plantation) look() {
	p.Helper()
	for _, d := range p.drivers {
		response, err := p.Client.WorkflowService().DescribeWorkflowExecution(p.Ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: d.run.GetID(), RunId: d.run.GetRunID()},
		})
		if err != nil {
			p.Fatal(err)
		}
		raw, err := proto.Marshal(response)
		if err != nil {
			p.Fatal(err)
		}
		p.described.Write(raw)
	}
	for _, pid := range fixture.Owned(ownerVariable, p.config.Owner) {
		arguments, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		p.arguments.Write(append(arguments, '\n'))
	}
}

// forms returns the ways in which a secret may be written: as it is, in a URL, and in
// base64, in which it may begin at three places of a group.
func forms(secret string) []string {
	all := []string{secret, url.QueryEscape(secret), fmt.Sprintf("%x", secret)}
	for shift := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString(append(make([]byte, shift), secret...))
			whole := (shift + len(secret)) * 8 / 6
			all = append(all, encoded[(shift*8+5)/6:whole])
		}
	}
	return all
}

// expectSilence looks for all secrets in all places.
func (p *plantation) expectSilence() {
	p.Helper()
	secrets := p.secrets()
	for _, place := range places {
		written := place.read(p)
		for _, certain := range place.holds {
			if !bytes.Contains(written, []byte(certain)) {
				p.Errorf("%s: %q is not there, so it is not all", place.name, certain)
			}
		}
		for kind, values := range secrets {
			if kind == place.inherent {
				continue
			}
			for _, value := range values {
				for _, form := range forms(value) {
					if at := bytes.Index(written, []byte(form)); at >= 0 {
						p.Errorf("%s: there is a %s: …%q…", place.name, kind, written[max(0, at-200):min(len(written), at+len(form)+100)])
						break
					}
				}
			}
		}
	}
	var counts []string
	for kind, values := range secrets {
		if counts = append(counts, fmt.Sprintf("%d × %s", len(values), kind)); len(values) == 0 {
			p.Errorf("there was no %s", kind)
		}
	}
	p.Logf("looked in %d places for %s", len(places), strings.Join(counts, ", "))
}
