package mailbox_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"msgx/engine/message"
	"msgx/tools/stack/stacktest"
)

// gbk is 航班 in GBK.
var gbk = []byte{0xba, 0xbd, 0xb0, 0xe0}

func TestBodiesByColumnType(t *testing.T) {
	cases := map[string]struct {
		column, body string
		stored       any
		want         message.Raw
	}{
		"utf8mb4 text":            {"MEDIUMTEXT CHARACTER SET utf8mb4", "auto", "航班🛫", message.Raw{Body: []byte("航班🛫"), Characters: true}},
		"gbk text is transcoded":  {"MEDIUMTEXT CHARACTER SET gbk", "auto", "航班", message.Raw{Body: []byte("航班"), Characters: true}},
		"latin1 is transcoded":    {"TEXT CHARACTER SET latin1", "auto", "Zürich", message.Raw{Body: []byte("Zürich"), Characters: true}},
		"blob is bytes":           {"MEDIUMBLOB", "auto", gbk, message.Raw{Body: gbk}},
		"varbinary is bytes":      {"VARBINARY(100)", "auto", gbk, message.Raw{Body: gbk}},
		"text asked of a blob":    {"BLOB", "text", []byte("航班"), message.Raw{Body: []byte("航班"), Characters: true}},
		"bytes asked of gbk text": {"TEXT CHARACTER SET gbk", "bytes", "航班", message.Raw{Body: gbk}},
		"bytes behind a latin1":   {"TEXT CHARACTER SET latin1", "bytes", gbk, message.Raw{Body: gbk}},
		"null":                    {"MEDIUMTEXT", "auto", nil, message.Raw{Characters: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := stacktest.Mailbox(t)
			db := owner(t, dsn)
			run(t, db, "ALTER TABLE CMINMSGS MODIFY CMINMSGS_CLOB_MSG "+c.column+" NULL")
			how := config(dsn)
			how.Body = c.body
			m := open(t, how)
			if stored, ok := c.stored.([]byte); ok {
				// Through our own insert, which has to leave the bytes alone.
				if _, err := m.Insert(t.Context(), stored, message.Meta{}, time.Now()); err != nil {
					t.Fatal(err)
				}
			} else {
				put(t, db, 1, c.stored)
			}
			c.want.MsgID = 1
			raws, _, err := m.Bodies(t.Context(), []int64{1}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]message.Raw{c.want}, raws); diff != "" {
				t.Errorf("column %s body %s (-want +got):\n%s", c.column, c.body, diff)
			}
		})
	}
}

func TestBodiesAreBoundedInBytes(t *testing.T) {
	m, db := fixture(t)
	for id, size := range map[int64]int{1: 10, 2: 1_200_000, 4: 10, 5: 20, 7: 5} {
		put(t, db, id, strings.Repeat("x", size))
	}
	all := []int64{7, 1, 2, 3, 4, 5, 6, 8}
	cases := map[string]struct {
		ids   []int64
		bound int64
		want  []int64
		last  int64
	}{
		"everything":                     {all, 2_000_000, []int64{1, 2, 4, 5, 7}, 8},
		"cut before the large one":       {all, 1_000, []int64{1}, 1},
		"the first is read whatever":     {[]int64{2, 3, 4}, 1_000, []int64{2}, 3},
		"a single one too":               {[]int64{2}, 1, []int64{2}, 2},
		"exactly full":                   {[]int64{4, 5, 7}, 35, []int64{4, 5, 7}, 7},
		"one byte less":                  {[]int64{4, 5, 6, 7}, 34, []int64{4, 5}, 6},
		"absent ids are not there":       {[]int64{3, 6, 8}, 10, []int64{}, 8},
		"absent before the cut is known": {[]int64{1, 2, 3, 4}, 1_200_010, []int64{1, 2}, 3},
		"nothing asked":                  {nil, 10, []int64{}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			raws, last, err := m.Bodies(t.Context(), c.ids, c.bound)
			if err != nil {
				t.Fatal(err)
			}
			got := []int64{}
			for _, raw := range raws {
				got = append(got, raw.MsgID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || last != c.last {
				t.Errorf("ids %v within %d bytes: last %d, want %d (-want +got):\n%s", c.ids, c.bound, last, c.last, diff)
			}
		})
	}
	raws, _, err := m.Bodies(t.Context(), []int64{2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Repeat([]byte("x"), 1_200_000); !bytes.Equal(raws[0].Body, want) {
		t.Errorf("the large body has %d bytes, want %d", len(raws[0].Body), len(want))
	}
}

func TestInsertRepeatsTheEnvelope(t *testing.T) {
	m, db := fixture(t)
	at := time.Date(2021, 1, 23, 5, 35, 7, 900e6, time.UTC)
	id, err := m.Insert(t.Context(), []byte("<m>'\\航班🛫</m>"), message.Meta{
		Sender: "SIS", Type: "FLOP", Subtype: "LONGER", Sequence: "42", SentAt: "2021-01-23T13:35:00+08:00",
	}, at)
	if err != nil || id != 1 {
		t.Fatalf("id %d, %v", id, err)
	}
	if _, err := m.Insert(t.Context(), nil, message.Meta{Sequence: "99999999", SentAt: "yesterday"}, at); err != nil {
		t.Fatalf("an envelope that does not fit: %v", err)
	}
	rows, err := db.QueryContext(t.Context(), `SELECT CONCAT_WS('|', CMINMSGS_CLOB_MSG, CMINMSGS_DATE_RECEIVED, IFNULL(CMINMSGS_DATE_PROCESSED, '-'),
		IFNULL(CMINMSGS_SUBSYSTEM_NAME, '-'), IFNULL(CMINMSGS_SUBSYSTEM_SEQUENCE, '-'), IFNULL(CMINMSGS_SUBSYSTEM_DATE_SENT, '-'),
		IFNULL(CMINMSGS_SUBSYSTEM_SUBTYPE, '-'), IFNULL(CMINMSGS_SUBSYSTEM_TYPE, '-'), CMINMSGS_STATUS) FROM CMINMSGS ORDER BY CMINMSGS_ID`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"<m>'\\航班🛫</m>|2021-01-23 13:35:07|-|SIS|42|2021-01-23 13:35:00|LONG|FLOP|VALID",
		"|2021-01-23 13:35:07|-|-|-|-|-|-|VALID",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
