GO ?= go
P4C ?= p4c-bm2-ss

.PHONY: build demo test bench soak p4 lint fmt

# Rebuilds what p4c makes of the P4 program. Nobody needs it to run or test Weft.
p4:
	@command -v $(P4C) >/dev/null || { echo "make p4: $(P4C) is not on the PATH"; exit 1; }
	cd p4 && $(P4C) --p4v 16 --Wdisable=unused --Wdisable=invalid-header --Wdisable=unsupported \
		-o fabric.json --p4runtime-files fabric.p4info.txtpb fabric.p4
	$(GO) generate ./p4
