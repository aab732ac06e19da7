package scratchdb

import (
	"context"
	"database/sql"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	_ "modernc.org/sqlite" // the driver
)

// A server knows the database of each of its sessions.
type server struct {
	mu        sync.Mutex
	databases map[*mcp.ServerSession]*database
}

// A database is one connection to SQLite, which keeps a database in memory for
// as long as the connection lives. It is taken out of its pool, since a pool that
// replaced it would put an empty database in the place of the session's own.
type database struct {
	pool *sql.DB
	conn *sql.Conn
}

// database returns the session's database, which its first call makes.
func (s *server) database(ctx context.Context, session *mcp.ServerSession) (*database, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if db, ok := s.databases[session]; ok {
		return db, nil
	}
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		_ = pool.Close()
		return nil, err
	}
	db := &database{pool: pool, conn: conn}
	s.databases[session] = db
	go func() {
		_ = session.Wait() // how the session ended is no matter
		s.drop(session)
	}()
	return db, nil
}

func (s *server) drop(session *mcp.ServerSession) {
	s.mu.Lock()
	db := s.databases[session]
	delete(s.databases, session)
	s.mu.Unlock()
	_ = db.conn.Close()
	_ = db.pool.Close()
}
