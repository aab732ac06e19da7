package session_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// planted is the value of SECRET in every test here.
const planted = "planted-secret-81236"

func load(t *testing.T, text string) ([]session.Server, error) {
	t.Helper()
	t.Setenv("SECRET", planted)
	t.Setenv("EMPTY", "")
	servers, err := session.Load(strings.NewReader(text))
	if err != nil && strings.Contains(err.Error(), planted) {
		t.Errorf("the error tells a secret: %v", err)
	}
	return servers, err
}

// The file of each host is taken as it is, in its order, and makes a plugin.
func TestLoadFilesOfHosts(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"Claude Desktop": {`{"globalShortcut": "", "mcpServers": {
			"filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/username/Desktop"]},
			"brave-search": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-brave-search"], "env": {"BRAVE_API_KEY": "YOUR_API_KEY_HERE"}}}}`,
			[]string{"filesystem", "brave-search"}},
		"Claude Code": {`{"mcpServers": {
			"api-server": {"type": "http", "url": "${API_BASE_URL:-https://api.example.com}/mcp", "headers": {"Authorization": "Bearer ${SECRET}"}},
			"shared-server": {"type": "stdio", "command": "/path/to/server", "args": [], "env": {}}}}`,
			[]string{"api-server", "shared-server"}},
		"VS Code": {`{"$schema": "x", "inputs": [{"type": "promptString", "id": "key", "password": true}], "servers": {
			"playwright": {"type": "stdio", "gallery": true, "version": "1.0.0", "command": "npx", "args": ["-y", "@microsoft/mcp-server-playwright"], "dev": {"watch": "**"}},
			"github": {"type": "http", "url": "https://api.githubcopilot.com/mcp"},
			"local": {"command": "node", "cwd": "${userHome}", "env": {"PORT": 8080, "KEY": "${env:SECRET}"}}}}`,
			[]string{"playwright", "github", "local"}},
		"Cursor": {`{"mcpServers": {"server-name": {"url": "http://localhost:3000/mcp", "headers": {"API_KEY": "value"}}}}`, []string{"server-name"}},
		"Cline": {`{"mcpServers": {
			"old": {"type": "sse", "url": "https://your-server-url.com/sse", "alwaysAllow": ["tool3"], "disabled": false},
			"off": {"command": "x", "disabled": true, "autoApprove": []},
			"new": {"type": "streamableHttp", "url": "https://host/mcp", "autoApprove": ["*"]}}}`, []string{"old", "new"}},
		"a byte order mark": {"\uFEFF{\"mcpServers\": {\"z\": {\"command\": \"x\"}, \"a\": {\"command\": \"x\"}}}", []string{"z", "a"}},
		"nothing":           {`{"mcpServers": {}}`, nil},
		// A server that is left out needs none of its variables.
		"disabled": {`{"mcpServers": {"off": {"command": "${NOT_SET_ANYWHERE}", "disabled": true}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			servers, err := load(t, test.file)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range servers {
				names = append(names, s.Name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			if len(servers) > 0 {
				if _, err := session.NewPlugin(session.Options{Servers: servers}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// An error names server, key and remedy; it never holds a value of the file or of a
// variable.
func TestLoadErrors(t *testing.T) {
	one := func(entry string) string { return `{"mcpServers": {"tracker": ` + entry + `}}` }
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"not JSON":              {"{\n  \"mcpServers\": planted-secret-81236\n}", []string{"line 2, column 17"}},
		"a comment":             {"{\n// planted-secret-81236\n}", []string{"line 2, column 1", "comments"}},
		"a comma too many":      {"{\"mcpServers\": {\n\"a\": {\"command\": \"x\",}}}", []string{"line 2, column 22", "comma"}},
		"an end too soon":       {`{"mcpServers": {"a": {"command": "planted-secret-81236`, []string{"ends at line 1, column 55"}},
		"nothing at all":        {"", []string{"ends at line 1, column 1"}},
		"more than one value":   {`{"mcpServers": {}} {}`, []string{"line 1, column 20"}},
		"no UTF-8":              {"{\n \"a\": \"\xff\"", []string{"line 2, column 8", "UTF-8"}},
		"a list":                {`["planted-secret-81236"]`, []string{"no JSON object", "mcpServers"}},
		"another file":          {`{"scripts": {"a": "planted-secret-81236"}}`, []string{`no "mcpServers"`, `it has "scripts"`}},
		"both places":           {`{"mcpServers": {}, "servers": {}}`, []string{`"mcpServers", "servers"`, "keep one"}},
		"unknown beside":        {`{"mcpServers": {}, "mcpservers": {}, "x": 1}`, []string{`"mcpservers", "x"`}},
		"servers in a list":     {`{"mcpServers": [{"name": "planted-secret-81236"}]}`, []string{`"mcpServers"`, "no JSON object"}},
		"a name twice":          {`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}, "a": {"command": "y"}}}`, []string{`"a"`, "more than once"}},
		"a name with a space":   {`{"mcpServers": {"my server": {"command": "x"}}}`, []string{`"my server"`, "use letters, digits", "rename it"}},
		"a name with a slash":   {`{"mcpServers": {"@a/b": {"command": "x"}}}`, []string{`"@a/b"`, "rename it"}},
		"an entry of no object": {one(`"planted-secret-81236"`), []string{`"tracker"`, "no JSON object"}},
		"unknown keys":          {one(`{"comand": "planted-secret-81236", "Args": [], "command": "x"}`), []string{`"tracker"`, `"comand", "Args"`, `"command", "cwd"`}},
		"a key twice":           {one(`{"command": "x", "command": "y"}`), []string{`"tracker"`, `"command"`, "more than once"}},
		"no command, no url":    {one(`{"args": []}`), []string{`"tracker"`, `"command" or a "url"`}},
		"both":                  {one(`{"command": "x", "url": "https://planted-secret-81236"}`), []string{`both "command" and "url"`}},
		"args beside a url":     {one(`{"url": "https://host/", "args": ["planted-secret-81236"]}`), []string{`"args" has no place beside "url"`}},
		"headers of a command":  {one(`{"command": "x", "headers": {}}`), []string{`"headers" has no place beside "command"`}},
		"type without its key":  {one(`{"type": "sse", "command": "x"}`), []string{`type sse needs a "url"`}},
		"an unknown type":       {one(`{"type": "planted-secret-81236", "url": "https://host/"}`), []string{`"type" must be`}},
		"a type of no string":   {one(`{"type": 7, "url": "https://host/"}`), []string{`"type" must be`}},
		"args in a string":      {one(`{"command": "x", "args": "planted-secret-81236"}`), []string{`"args" must be a list`}},
		"an arg of no string":   {one(`{"command": "x", "args": ["a", 81236]}`), []string{`"args[1]" must be a string`}},
		"an empty command":      {one(`{"command": "${EMPTY}"}`), []string{`"command" is empty`}},
		"an env of no object":   {one(`{"command": "x", "env": ["K=planted-secret-81236"]}`), []string{`"env" must be an object`}},
		"an env value of none":  {one(`{"command": "x", "env": {"K": ["planted-secret-81236"]}}`), []string{`"env.K" must be a string`}},
		"an env key with =":     {one(`{"command": "x", "env": {"K=planted": "planted-secret-81236"}}`), []string{`"env" has a key`}},
		"a zero byte":           {one(`{"command": "x", "args": ["planted-secret-81236\u0000"]}`), []string{`"args[0]" holds a zero byte`}},
		"a url of no URL":       {one(`{"url": "${SECRET}"}`), []string{`"tracker"`, `"url" can't be used`}},
		"a url with a password": {one(`{"url": "https://me:${SECRET}@host/"}`), []string{`"url" can't be used`, "in headers"}},
		"a line break":          {one(`{"url": "https://host/", "headers": {"X-Key": "${SECRET}\n"}}`), []string{`"headers.X-Key"`, "line break"}},
		"a header of ours":      {one(`{"url": "https://host/", "headers": {"content-type": "x"}}`), []string{`"headers.content-type"`, "sets itself"}},
		"no header's name":      {one(`{"url": "https://host/", "headers": {"a b": "x"}}`), []string{`"headers.a b"`, "no header's name"}},
		"a header twice":        {one(`{"url": "https://host/", "headers": {"authorization": "planted-secret-81236", "Authorization": "x"}}`), []string{`"headers.Authorization"`, "case does not count"}},
		"null":                  {one(`{"url": "https://host/", "headers": null}`), []string{`"headers" must be an object`}},
		"a null in headers":     {one(`{"url": "https://host/", "headers": {"X": null}}`), []string{`"headers.X" must be a string`}},
		"a null for args":       {one(`{"command": "x", "args": null, "env": null, "cwd": null}`), []string{`"args" must be a list`, `"env" must be an object`, `"cwd" must be a string`}},
		"a null for command":    {one(`{"command": null}`), []string{`"command" must be a string`}},
		"a null for type":       {one(`{"command": "x", "type": null}`), []string{`"type" must be`}},
		"a line break in url":   {one(`{"url": "https://host/planted-secret-81236\r\n"}`), []string{`"url" can't be used`}},
		"nested too deep":       {one(`{"command": "x", "dev": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`), []string{"is no JSON at line 1, column"}},
		"disabled of no bool":   {one(`{"command": "x", "disabled": "planted-secret-81236"}`), []string{`"disabled" must be true or false`}},
		"envFile":               {one(`{"command": "x", "envFile": "planted-secret-81236"}`), []string{`"envFile" is not read`, "${VAR}"}},
		"timeout":               {one(`{"command": "x", "timeout": 60}`), []string{`"timeout" has another unit`, "CallTimeout"}},
		"tools that are off":    {one(`{"command": "x", "disabledTools": ["a"]}`), []string{`"disabledTools" is not enforced`}},
		"a sandbox":             {one(`{"command": "x", "sandboxEnabled": true}`), []string{`"sandboxEnabled" is not enforced`}},

		"unset":               {one(`{"command": "x", "env": {"K": "${SECRET}${NOT_SET_ANYWHERE}"}}`), []string{`"tracker"`, `"env.K"`, "NOT_SET_ANYWHERE is not set"}},
		"unset, of env":       {one(`{"url": "${env:NOT_SET_ANYWHERE}"}`), []string{`"url"`, "NOT_SET_ANYWHERE is not set"}},
		"an input":            {one(`{"command": "x", "args": ["${input:api-key}"]}`), []string{`"args[0]"`, "${input:api-key}", "nobody is there to ask"}},
		"a workspace":         {one(`{"command": "x", "cwd": "${workspaceFolder}/a"}`), []string{`"cwd"`, "${workspaceFolder}", "editor"}},
		"what is no name":     {one(`{"command": "x", "args": ["pw${planted-secret-81236}"]}`), []string{`"args[0]"`, "no variable's name", "$${"}},
		"what does not end":   {one(`{"command": "x", "args": ["pw${planted-secret-81236"]}`), []string{`"args[0]"`, `without its "}"`, "$${"}},
		"a default in itself": {one(`{"command": "x", "args": ["${NOT_SET_ANYWHERE:-${SECRET}}"]}`), []string{"inside of another's default"}},

		"all at once": {`{"mcpServers": {
			"a": {"comand": "x", "cwd": "${NOT_SET_ANYWHERE}", "command": "${NOT_SET_EITHER}"},
			"b": {"url": "https://host/", "headers": {"X": "${NOT_SET_ANYWHERE}"}},
			"c d": {"command": "x"}}}`,
			[]string{`"comand"`, `"a": "cwd"`, `"a": "command"`, "NOT_SET_EITHER", `"b": "headers.X"`, `"c d"`}},
	} {
		t.Run(name, func(t *testing.T) {
			servers, err := load(t, test.file)
			if err == nil || servers != nil {
				t.Fatalf("%d servers, error %v", len(servers), err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not mention %q", err, want)
				}
			}
		})
	}
}

func TestLoadBoundsTheFile(t *testing.T) {
	t.Parallel()
	if _, err := session.Load(strings.NewReader(strings.Repeat(" ", session.MaxConfiguration+1))); err == nil || !strings.Contains(err.Error(), "4194304") {
		t.Errorf("a file over the bound: %v", err)
	}
	deep := strings.Repeat(`{"mcpServers":`, 20_000)
	if _, err := session.Load(strings.NewReader(deep)); err == nil {
		t.Error("a file that never ends was loaded")
	}
}

// The process of a loaded server gets the command, the arguments, the environment and
// the directory that the file says, its variables replaced once.
func TestLoadedCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it needs a shell")
	}
	directory, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	t.Setenv("OUT", out)
	t.Setenv("HERE", directory)
	t.Setenv("WITHIN", "${SECRET}")
	script := `{ pwd; printf '%s\n' "$@" "$GREETING" "$PORT" "${OUTSIDE-unset}"; } > "$TARGET.tmp"; mv "$TARGET.tmp" "$TARGET"`
	t.Setenv("OUTSIDE", "not for the server")
	servers, err := load(t, fmt.Sprintf(`{"mcpServers": {"shell": {
		"command": "${SHELL_NAME:-sh}", "args": ["-c", %q, "sh", "$HERE", "$${HERE}", "${WITHIN}", "a${EMPTY}b", "${NOT_SET_ANYWHERE:-}|${EMPTY:-x}|${NOT_SET_ANYWHERE:-a b}"],
		"cwd": "${HERE}", "env": {"GREETING": "hello ${env:SECRET}", "TARGET": "${OUT}", "PORT": 8080}}}}`, strings.ReplaceAll(script, "${OUTSIDE", "$${OUTSIDE")))
	if err != nil {
		t.Fatal(err)
	}
	built, err := servers[0].Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = built.(transport.Watched).Close() })
	if _, err := built.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		said, err := os.ReadFile(out)
		if err == nil {
			real, _ := filepath.EvalSymlinks(directory)
			want := strings.Join([]string{real, "$HERE", "${HERE}", "${SECRET}", "ab", "||a b", "hello " + planted, "8080", "unset", ""}, "\n")
			if diff := cmp.Diff(want, string(said)); diff != "" {
				t.Errorf("the server got (-want +got):\n%s", diff)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A secret of the arguments, which a server prints as it dies, is not told.
func TestLoadedSecretsAreCutOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it needs a shell")
	}
	t.Setenv("HOME", "/home/somebody")
	servers, err := load(t, `{"mcpServers": {"shell": {"command": "sh", "args": ["-c", "echo key=$1 home=$2 >&2; exit 3", "sh", "${SECRET}", "${HOME}"]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	built, err := servers[0].Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	watched := built.(transport.Watched)
	if _, err = built.Connect(t.Context()); err == nil {
		<-watched.Gone()
		err = watched.Cause()
	}
	if err == nil || !strings.Contains(err.Error(), "key=[redacted] home=/home/somebody") {
		t.Errorf("the server's end is told as %v", err)
	}
}

// A loaded server over HTTP gets its headers, and speaks the transport of its type.
func TestLoadedHTTP(t *testing.T) {
	newServer := func(*http.Request) *mcp.Server {
		return mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
	}
	for kind, handler := range map[string]http.Handler{
		"http":            mcp.NewStreamableHTTPHandler(newServer, nil),
		"streamable-http": mcp.NewStreamableHTTPHandler(newServer, nil),
		"streamableHttp":  mcp.NewStreamableHTTPHandler(newServer, nil),
		"":                mcp.NewStreamableHTTPHandler(newServer, nil),
		"sse":             mcp.NewSSEHandler(newServer, nil),
	} {
		t.Run("type "+kind, func(t *testing.T) {
			var mu sync.Mutex
			var keys []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				keys = append(keys, r.Header.Get("X-Key"))
				mu.Unlock()
				handler.ServeHTTP(w, r)
			}))
			defer server.Close()
			t.Setenv("URL", server.URL)
			typed := ""
			if kind != "" {
				typed = fmt.Sprintf(`"type": %q, `, kind)
			}
			servers, err := load(t, `{"servers": {"remote": {`+typed+`"url": "${URL}/mcp", "headers": {"X-Key": "k ${SECRET}"}}}}`)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			built, err := servers[0].Connect(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, built, nil)
			if err != nil {
				t.Fatal(err)
			}
			if name := client.InitializeResult().ServerInfo.Name; name != "remote" {
				t.Errorf("connected to %q", name)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for i, key := range keys {
				if key != "k "+planted {
					t.Errorf("request %d has the header %q", i, key)
				}
			}
		})
	}
}
