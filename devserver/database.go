package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema/sqlite"
)

// database is the SQLite database that everything is kept in.
//
// There is one connection to it. SQLite has a single writer anyway, and an in-memory database that several connections
// share answers "table is locked" to all but one. The plugin shares the connection between all services (those that ask
// with equal settings) and keeps it until the process ends, without which an in-memory database would be gone.
type database struct {
	path   string // Empty in memory.
	config *config.SQL
}

func newDatabase(path string) database {
	settings := &config.SQL{PluginName: sqliteplugin.PluginName, MaxConns: 1, MaxIdleConns: 1}
	if path == "" {
		// The name is only the process's: such a database isn't shared with another process.
		settings.DatabaseName = "devserver"
		settings.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
		return database{config: settings}
	}
	// The plugin puts the name into a URI as it is.
	settings.DatabaseName = (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	settings.ConnectAttributes = map[string]string{
		"mode":         "rwc",
		"journal_mode": "wal",
		"synchronous":  "normal",
		// Two servers on one file would take the history shard from each other for ever.
		"locking_mode": "exclusive",
	}
	return database{path: path, config: settings}
}

// prepare creates what is missing: the schema in a new file (in memory the plugin does it), and the namespaces.
func (d database) prepare(clusterName string, namespaces []string) error {
	if err := d.createSchema(); err != nil {
		return err
	}
	configs := make([]*sqlite.NamespaceConfig, len(namespaces))
	for i, name := range namespaces {
		var err error
		if configs[i], err = sqlite.NewNamespaceConfig(clusterName, name, false, nil); err != nil {
			return fmt.Errorf("-namespace %s: %w", name, err)
		}
	}
	if err := sqlite.CreateNamespaces(d.config, configs...); err != nil {
		if d.path == "" {
			return fmt.Errorf("cannot create the namespaces: %w", err)
		}
		return d.unusable(err)
	}
	return nil
}

func (d database) createSchema() error {
	if d.path == "" {
		return nil
	}
	directory := filepath.Dir(d.path)
	if info, err := os.Stat(directory); err != nil || !info.IsDir() {
		return fmt.Errorf("-db %s: there is no directory %s; create it, or name a file in one that exists", d.path, directory)
	}
	switch info, err := os.Stat(d.path); {
	case err == nil && info.Size() > 0:
		return nil
	case err != nil && !os.IsNotExist(err):
		return d.unusable(err)
	}
	if err := sqlite.SetupSchema(d.config); err != nil {
		return d.unusable(err)
	}
	return nil
}

func (d database) unusable(err error) error {
	return fmt.Errorf("cannot use -db %s: %w; stop the server that has it open, or name another file if it isn't a complete database of a devserver",
		d.path, err)
}

// fold moves what the write-ahead log beside the file holds into it, so that the file alone is the whole database after a
// clean stop.
func (d database) fold() error {
	if d.path == "" {
		return nil
	}
	admin, err := sql.NewSQLAdminDB(sqlplugin.DbKindUnknown, d.config, resolver.NewNoopResolver(),
		log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return d.unusable(err)
	}
	defer admin.Close()
	if err := admin.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return d.unusable(err)
	}
	return nil
}
