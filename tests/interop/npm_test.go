package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// npmPackages are the reference servers on the TypeScript SDK.
var npmPackages = &installation{
	name: "npm",
	from: []string{"npm/package.json", "npm/package-lock.json"},
	probe: func(ctx context.Context) (with, lacks string) {
		const remedy = "the servers of npm need node 20 or later with npm: install it from https://nodejs.org or by your system's packages"
		out, err := exec.CommandContext(ctx, "node", "--version").Output()
		if err != nil {
			return "", fmt.Sprintf("%s (%v)", remedy, err)
		}
		version := strings.TrimSpace(string(out))
		var major int
		if _, err := fmt.Sscanf(version, "v%d.", &major); err != nil || major < 20 {
			return "", fmt.Sprintf("%s (node is %s)", remedy, version)
		}
		if _, err := exec.LookPath("npm"); err != nil {
			return "", fmt.Sprintf("%s (%v)", remedy, err)
		}
		return "", "" // no package has anything that is built for a version of node
	},
	install: func(ctx context.Context, directory string) ([]byte, error) {
		for _, file := range []string{"package.json", "package-lock.json"} {
			content, err := os.ReadFile(filepath.Join("npm", file))
			if err == nil {
				err = os.WriteFile(filepath.Join(directory, file), content, 0o644)
			}
			if err != nil {
				return nil, err
			}
		}
		install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		install.Dir = directory
		return install.CombinedOutput()
	},
}

// npm returns a server of npmPackages, run by node itself.
func npm(name string) func(*place) program {
	return func(p *place) program {
		p.Helper()
		directory := npmPackages.directory(p.T)
		script := filepath.Join(directory, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
		return program{name: "node", args: []string{script}, mark: name}
	}
}

// npx returns it run the way that most people run one: the server is a grandchild.
func npx(name string) func(*place) program {
	return func(p *place) program {
		p.Helper()
		directory := npmPackages.directory(p.T)
		return program{
			name: "npx", args: []string{"--no-install", strings.Replace(name, "server-", "mcp-server-", 1)},
			dir: directory, mark: name,
		}
	}
}

// everythingOfNpm is told by its first argument what it speaks, and by a variable
// at which port.
func everythingOfNpm(run func(*place) program) func(*place) program {
	words := map[transportKind]string{stdio: "stdio", streamable: "streamableHttp", sse: "sse"}
	paths := map[transportKind]string{streamable: "/mcp", sse: "/sse"}
	return func(p *place) program {
		p.Helper()
		everything := run(p)
		everything.args = append(everything.args, words[p.over])
		everything.env, everything.path = []string{"PORT=" + p.port}, paths[p.over]
		return everything
	}
}

// memoryOfNpm keeps its graph in a file, which all sessions of a row share.
func memoryOfNpm(p *place) program {
	p.Helper()
	memory := npm("server-memory")(p)
	memory.env = []string{"MEMORY_FILE_PATH=" + filepath.Join(p.dir, "memory.jsonl")}
	return memory
}

// filesystem may touch the row's directory alone.
func filesystem(p *place) program {
	p.Helper()
	files := npm("server-filesystem")(p)
	files.args = append(files.args, p.dir)
	return files
}
