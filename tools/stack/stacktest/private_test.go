package stacktest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/segmentio/kafka-go"

	"msgx/tools/stack/stacktest"
)

func postgresAnswers(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func TestPrivatePostgresStopsKeepsItsDataAndFreezes(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivatePostgres(t)
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a session outlived the kill")
	}
	_ = conn.Close(context.Background())
	server.Start()
	server.Stop()
	if err := postgresAnswers(server.URL); err == nil {
		t.Error("answers after Stop")
	}
	server.Start()
	server.Freeze()
	if err := postgresAnswers(server.URL); err == nil {
		t.Error("answers while frozen")
	}
	server.Thaw()
	conn, err = pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "SELECT n FROM kept"); err != nil {
		t.Errorf("after kill, stop and start: %v", err)
	}
}

func TestPrivateMariaDBKeepsItsRowsOverAKill(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivateMariaDB(t)
	db, err := sql.Open("mysql", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO CMINMSGS (CMINMSGS_CLOB_MSG) VALUES ('<MSG/>')"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("answers after Kill")
	}
	server.Start()
	var rows int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM CMINMSGS").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("rows after a kill: got %d, %v, want 1", rows, err)
	}
}

func TestTopicsAreMadeAndOnlyByTopic(t *testing.T) {
	brokers := stacktest.Kafka(t)
	topic := stacktest.Topic(t, 3)
	conn, err := kafka.DialContext(t.Context(), "tcp", brokers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	partitions, err := conn.ReadPartitions(topic)
	if err != nil || len(partitions) != 3 {
		t.Errorf("partitions of %s: got %d, %v, want 3", topic, len(partitions), err)
	}
	if _, err := conn.ReadPartitions(topic + "-never-made"); err == nil {
		t.Error("asking for an unknown topic made it")
	}
}

func TestPrivateKafkaKeepsItsRecordsOverAKill(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivateKafka(t)
	topic := server.Topic(1)
	leader := func() *kafka.Conn {
		conn, err := kafka.DialLeader(t.Context(), "tcp", server.URL, topic, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn := leader()
	if _, err := conn.WriteMessages(kafka.Message{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	server.Kill()
	server.Start()
	conn = leader()
	defer conn.Close()
	if last, err := conn.ReadLastOffset(); err != nil || last != 1 {
		t.Errorf("last offset after a kill: got %d, %v, want 1", last, err)
	}
}
