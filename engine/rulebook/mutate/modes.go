package mutate

import (
	"strings"

	"msgx/engine/rulebook/syntax/tree"
)

// library is the one that has the merge modes.
const library = "merge"

// require notes under which name a script has the library of the modes.
func (b *breeder) require(n *tree.Node) {
	if len(n.Kids) != 1 || n.Kids[0].Kind != tree.Call || !b.requires(n.Kids[0]) {
		return
	}
	if strings.Trim(b.text(n.Kids[0].Kids[1]), `"'`) == library {
		b.merge = b.tokens[n.First+1].Text
	}
}

func (b *breeder) requires(call *tree.Node) bool {
	return b.text(call.Kids[0]) == "require" && len(call.Kids) == 2
}

// required tells whether a node is the name of a library.
func (b *breeder) required(*tree.Node) bool {
	up := b.above[len(b.above)-1]
	return up.Kind == tree.Call && b.requires(up)
}

// mode puts another merge mode in the place of one: merge.value, merge.by_key("CODE"), merge.set_only(…).
func (b *breeder) mode(n *tree.Node) {
	if b.merge == "" {
		return
	}
	if n.Kind == tree.Call {
		switch b.text(n.Kids[0]) {
		case b.merge + ".set_only":
			if len(n.Kids) == 2 {
				b.replace("mode", n, b.text(n.Kids[1]))
			}
		case b.merge + ".by_key":
			b.replace("mode", n, b.merge+".replace")
			b.withSetOnly(n)
			b.fewerKeys(n)
		}
		return
	}
	switch b.text(n) {
	case b.merge + ".value":
		b.withSetOnly(n)
	case b.merge + ".replace":
		b.withSetOnly(n)
		if key, ok := b.key(); ok {
			b.replace("mode", n, b.merge+`.by_key("`+key+`")`)
		}
	}
}

// withSetOnly wraps a mode, unless it is already.
func (b *breeder) withSetOnly(n *tree.Node) {
	if up := b.above[len(b.above)-1]; up.Kind == tree.Call && b.text(up.Kids[0]) == b.merge+".set_only" {
		return
	}
	b.replace("mode", n, b.merge+".set_only("+b.text(n)+")")
}

// fewerKeys leaves out each of several key elements.
func (b *breeder) fewerKeys(call *tree.Node) {
	keys := call.Kids[1:]
	if len(keys) < 2 {
		return
	}
	for i := range keys {
		args := ""
		for j, key := range keys {
			if j == i {
				continue
			}
			if args != "" {
				args += ", "
			}
			args += b.text(key)
		}
		b.replace("mode", call, b.merge+".by_key("+args+")")
	}
}

// key is an element by which the list of the field at hand could be merged.
func (b *breeder) key() (string, bool) {
	up := b.above[len(b.above)-1]
	if up.Kind != tree.Field || b.options.FirstElement == nil || b.tokens[up.First].Kind != tree.NameToken {
		return "", false
	}
	return b.options.FirstElement(b.tokens[up.First].Text)
}
