// Package scratch makes databases that a program of ours needs for a while, in
// servers that it may create databases in, and removes them again.
package scratch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"msgx/tools/stack/mailboxddl"
)

const removeBound = 30 * time.Second

// Place is what has been made; Remove takes it away again.
type Place struct {
	Mailbox    *sql.DB // the mailbox as its owner sees it
	MailboxDSN string

	postgres string // URL of the database to come in by
	owner    *sql.DB
	mailbox  string
	made     []string // PostgreSQL databases
}

// New makes a mailbox with its two tables in the MariaDB of dsn. PostgreSQL
// databases are made by Database.
func New(ctx context.Context, postgresURL, mariaDSN, name string) (*Place, error) {
	settings, err := mysql.ParseDSN(mariaDSN)
	if err != nil {
		return nil, fmt.Errorf("MariaDB: %w", err)
	}
	p := &Place{postgres: postgresURL, mailbox: name}
	if p.owner, err = sql.Open("mysql", settings.FormatDSN()); err != nil {
		return nil, fmt.Errorf("MariaDB: %w", err)
	}
	settings.DBName = name
	p.MailboxDSN = settings.FormatDSN()
	if p.Mailbox, err = sql.Open("mysql", p.MailboxDSN); err != nil {
		return nil, errors.Join(fmt.Errorf("MariaDB: %w", err), p.owner.Close())
	}
	if _, err = p.owner.ExecContext(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err == nil {
		err = mailboxddl.Create(ctx, p.Mailbox)
	}
	if err != nil {
		p.Remove()
		return nil, fmt.Errorf("MariaDB: %w", err)
	}
	return p, nil
}

// Database makes a PostgreSQL database, as a copy of another of ours when
// template names one (nobody may be connected to that), and returns its URL.
func (p *Place) Database(ctx context.Context, name, template string) (string, error) {
	statement := "CREATE DATABASE " + name
	if template != "" {
		statement += " TEMPLATE " + template
	}
	if err := p.administer(ctx, statement); err != nil {
		return "", fmt.Errorf("PostgreSQL: create database %s: %w", name, err)
	}
	p.made = append(p.made, name)
	return p.URL(name)
}

// URL leads to a PostgreSQL database of the given name.
func (p *Place) URL(name string) (string, error) {
	u, err := url.Parse(p.postgres)
	if err != nil {
		return "", fmt.Errorf("PostgreSQL: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

func (p *Place) administer(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, p.postgres)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Drop removes one database before the rest.
func (p *Place) Drop(ctx context.Context, name string) error {
	return p.administer(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

// Remove takes away everything that was made. What cannot be removed stays: the
// servers are private and are removed as a whole.
func (p *Place) Remove() {
	ctx, cancel := context.WithTimeout(context.Background(), removeBound)
	defer cancel()
	_ = p.Mailbox.Close()
	_, _ = p.owner.ExecContext(ctx, "DROP DATABASE IF EXISTS "+p.mailbox)
	_ = p.owner.Close()
	for _, name := range p.made {
		_ = p.Drop(ctx, name)
	}
}
