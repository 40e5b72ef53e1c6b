package kafka

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestPartitionsAsTheJavaClientSays holds our partitions to those of the Java client itself. testdata/partitions.tsv is what
// testdata/Partitions.java printed with the client of Kafka 4.1:
//
//	java -cp 'JARS/*' Partitions.java > partitions.tsv
func TestPartitionsAsTheJavaClientSays(t *testing.T) {
	data, err := os.ReadFile("testdata/partitions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	counts := strings.Split(lines[0], "\t")[2:]
	compared := 0
	for _, line := range lines[1:] {
		columns := strings.Split(line, "\t")
		for i, count := range counts {
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			if got := strconv.Itoa(partitionOf(columns[0], partitionNumbers(n))); got != columns[i+2] {
				t.Errorf("partition of %s among %d: got %s, want %s", columns[0], n, got, columns[i+2])
			}
			compared++
		}
	}
	if compared < 700 {
		t.Errorf("%d partitions were compared, want 700 or more", compared)
	}
}
