package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	kafkago "github.com/segmentio/kafka-go"
)

type kafka struct{}

// initialise formats the log folder, which gives the cluster its id.
func (k kafka) initialise(ctx context.Context, p place) error {
	if err := k.configure(p); err != nil {
		return err
	}
	argv := append(k.java(p), "kafka.tools.StorageTool", "format",
		"--cluster-id", "bXNneC1kZXYtc3RhY2stMQ", "--config", k.config(p))
	return p.run(ctx, argv...)
}

func (k kafka) command(p place) ([]string, error) {
	if err := k.configure(p); err != nil {
		return nil, err
	}
	return append(k.java(p), "kafka.Kafka", k.config(p)), nil
}

func (kafka) config(p place) string { return filepath.Join(p.dir, "server.properties") }

// java starts fast and stays small rather than becoming fast: the broker of a
// development stack carries little.
func (kafka) java(p place) []string {
	return []string{
		p.home.Java, "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Xshare:auto", "-Djava.net.preferIPv4Stack=true", "-Djava.io.tmpdir=" + p.data(),
		"-Dorg.apache.logging.log4j.level=WARN", "-cp", p.home.ClassPath,
	}
}

// configure writes the broker's configuration for the present port. The
// controller has a port of its own, which nobody else needs to know.
func (k kafka) configure(p place) error {
	controller, err := freePort(0)
	if err != nil {
		return err
	}
	listeners, advertised := "PLAINTEXT://"+p.address(), "PLAINTEXT://"+cmp.Or(p.advertised, p.address())
	if p.secure != "" {
		listeners, advertised = listeners+",SASL_SSL://"+p.secure, advertised+",SASL_SSL://"+p.secure
	}
	lines := []string{
		"process.roles=broker,controller",
		"node.id=1",
		fmt.Sprintf("controller.quorum.voters=1@127.0.0.1:%d", controller),
		fmt.Sprintf("listeners=%s,CONTROLLER://127.0.0.1:%d", listeners, controller),
		"advertised.listeners=" + advertised,
		"controller.listener.names=CONTROLLER",
		"log.dirs=" + filepath.Join(p.data(), "logs"),
		"auto.create.topics.enable=false",
		"default.replication.factor=1",
		"min.insync.replicas=1",
		"offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=3",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"transaction.state.log.num.partitions=3",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"share.coordinator.state.topic.num.partitions=3",
		"group.initial.rebalance.delay.ms=0",
		"controlled.shutdown.enable=false",
		// A killed broker may register again once its old session is over: 9 s by default.
		"broker.session.timeout.ms=3000",
		"broker.heartbeat.interval.ms=500",
		"log.cleaner.dedupe.buffer.size=33554432",
		"num.network.threads=2",
		"num.io.threads=4",
	}
	lines = append(lines, p.more...)
	if err := os.WriteFile(k.config(p), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("write broker configuration: %w", err)
	}
	return os.Chmod(k.config(p), 0o644) // whatever the umask: another account reads it
}

// ping wants a broker in the metadata: one that is still being registered is
// not in it, and would refuse to create topics.
func (kafka) ping(ctx context.Context, address string) error {
	conn, err := kafkago.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the answer is what counts
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	brokers, err := conn.Brokers()
	if err != nil {
		return err
	}
	if len(brokers) == 0 {
		return errors.New("no broker registered yet")
	}
	return nil
}

func (kafka) url(address string) string { return address }

func (kafka) stopSignal() syscall.Signal { return syscall.SIGTERM }
