package play

import (
	"bytes"
	"encoding/json"
)

// Entry is an entry of a list, as it goes, comes or stays.
type Entry struct {
	Sign   string  `json:"sign"` // "-" gone, "+" come, " " there before and after
	Fields []Field `json:"fields"`
}

// Field is an element of an entry.
type Field struct {
	Tag   string `json:"tag"`
	Value string `json:"value"`
	// Differs tells that the entry in whose place this one came, or that came in its place,
	// has another value.
	Differs bool `json:"differs,omitempty"`
}

// maxEntries bounds the lists that are compared entry by entry; of longer ones all
// entries go and come.
const maxEntries = 500

// compareLists tells what became of each entry; false when the values are no lists.
func compareLists(before, after json.RawMessage) ([]Entry, bool) {
	gone, wasList := listOf(before)
	come, isList := listOf(after)
	if !wasList && !isList {
		return nil, false
	}
	common := commonLengths(gone, come)
	var out []Entry
	i, j := 0, 0
	for i < len(gone) || j < len(come) {
		switch {
		case i < len(gone) && j < len(come) && bytes.Equal(gone[i], come[j]):
			out = append(out, Entry{" ", fieldsOf(gone[i])})
			i, j = i+1, j+1
		case j == len(come) || (i < len(gone) && common[i+1][j] >= common[i][j+1]):
			out = append(out, Entry{"-", fieldsOf(gone[i])})
			i++
		default:
			out = append(out, Entry{"+", fieldsOf(come[j])})
			j++
		}
	}
	return pair(out), true
}

// listOf splits a list into its entries. Nothing is no list.
func listOf(value json.RawMessage) ([]json.RawMessage, bool) {
	var out []json.RawMessage
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &out) != nil {
		return nil, false
	}
	return out, true
}

// commonLengths[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
func commonLengths(a, b []json.RawMessage) [][]int {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	if len(a) > maxEntries || len(b) > maxEntries {
		return common
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if bytes.Equal(a[i], b[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

// fieldsOf takes an entry apart, in its order; a nested list stays one text.
func fieldsOf(entry json.RawMessage) []Field {
	in := json.NewDecoder(bytes.NewReader(entry))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return []Field{{Value: string(entry)}}
	}
	out := []Field{}
	for in.More() {
		key, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return []Field{{Value: string(entry)}}
		}
		tag, _ := key.(string)
		out = append(out, Field{Tag: tag, Value: string(value)})
	}
	return out
}

// pair marks the fields in which entries differ that went and came in the same place:
// of a run of n gone and m come the first with the first, and so on.
func pair(entries []Entry) []Entry {
	for i := 0; i < len(entries); {
		if entries[i].Sign == " " {
			i++
			continue
		}
		var gone, come []*Entry
		for ; i < len(entries) && entries[i].Sign != " "; i++ {
			if entries[i].Sign == "-" {
				gone = append(gone, &entries[i])
			} else {
				come = append(come, &entries[i])
			}
		}
		for n := range min(len(gone), len(come)) {
			markDifferences(gone[n].Fields, come[n].Fields)
			markDifferences(come[n].Fields, gone[n].Fields)
		}
	}
	return entries
}

func markDifferences(of, against []Field) {
	values := map[string]string{}
	for _, f := range against {
		values[f.Tag] = f.Value
	}
	for i := range of {
		if v, ok := values[of[i].Tag]; !ok || v != of[i].Value {
			of[i].Differs = true
		}
	}
}
