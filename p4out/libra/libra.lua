-- Wireshark dissector for the packets of libra. Made by gradplane; not to be edited.
-- Use: wireshark -X lua_script:FILE, or put the file into the folder of personal Lua plugins.

do
  -- One row of one job in one round.
  local proto = Proto("gradplane.aggregation", "gradplane aggregation")
  local f = {}
  f.version = ProtoField.uint8("gradplane.aggregation.version", "version", base.DEC, nil, 0xf0)
  f.kind = ProtoField.uint8("gradplane.aggregation.kind", "kind", base.DEC, { [1] = "CONTRIBUTION", [2] = "NULL", [3] = "ACK", [4] = "RESULT", [5] = "COLLECT", [6] = "PENDING", [7] = "RESET" }, 0x0f, "Kind")
  f.flags = ProtoField.uint8("gradplane.aggregation.flags", "flags", base.HEX, nil, nil, "Flag, or-ed")
  f.flags_MARK = ProtoField.bool("gradplane.aggregation.flags.MARK", "MARK", 8, nil, 0x01)
  f.flags_DUPLICATE = ProtoField.bool("gradplane.aggregation.flags.DUPLICATE", "DUPLICATE", 8, nil, 0x02)
  f.flags_STALE = ProtoField.bool("gradplane.aggregation.flags.STALE", "STALE", 8, nil, 0x04)
  f.job = ProtoField.uint16("gradplane.aggregation.job", "job", base.DEC)
  f.generation = ProtoField.uint16("gradplane.aggregation.generation", "generation", base.DEC, nil, nil, "placement of the job; raised by the controller at each move")
  f.member = ProtoField.uint8("gradplane.aggregation.member", "member", base.DEC, { [255] = "COLLECTOR" }, nil, "worker 0..31, or 255 for the parameter server")
  f.scale = ProtoField.uint8("gradplane.aggregation.scale", "scale", base.DEC, nil, nil, "unit of the job: fraction bits (int32, fp16: signed), window base (fp32, bf16), first exponent (block)")
  f.slot = ProtoField.uint16("gradplane.aggregation.slot", "slot", base.DEC, nil, nil, "row of the switch's register grid = the job's slot base + row")
  f.lanes = ProtoField.uint8("gradplane.aggregation.lanes", "lanes", base.DEC, nil, nil, "lanes of a row")
  f.mode = ProtoField.uint8("gradplane.aggregation.mode", "mode", base.DEC, { [1] = "int32", [2] = "block", [3] = "fp32", [4] = "fp16", [5] = "bf16" }, nil, "numeric mode: 1 int32, 2 block, 3 fp32, 4 fp16, 5 bf16")
  f.round = ProtoField.uint32("gradplane.aggregation.round", "round", base.DEC, nil, nil, "serial number (RFC 1982), from 1; its lowest bit is the bank")
  f.current_tag = ProtoField.uint24("gradplane.aggregation.current_tag", "current_tag")
  f.current_exponent = ProtoField.uint8("gradplane.aggregation.current_exponent", "current_exponent")
  f.next_tag = ProtoField.uint24("gradplane.aggregation.next_tag", "next_tag")
  f.next_exponent = ProtoField.uint8("gradplane.aggregation.next_exponent", "next_exponent")
  f.lane = ProtoField.int32("gradplane.aggregation.lane", "lane")
  f.lane_fp32 = ProtoField.float("gradplane.aggregation.lane_fp32", "lane_fp32")
  f.lane_fp16 = ProtoField.float("gradplane.aggregation.lane_fp16", "lane_fp16")
  f.lane_bf16 = ProtoField.float("gradplane.aggregation.lane_bf16", "lane_bf16")
  proto.fields = f
  local e = {}
  e.too_short = ProtoExpert.new("gradplane.aggregation.expert.too_short", "the packet is shorter than its header", expert.group.MALFORMED, expert.severity.ERROR)
  e.version = ProtoExpert.new("gradplane.aggregation.expert.version", "only version 1 is known; the rest is not dissected", expert.group.MALFORMED, expert.severity.ERROR)
  e.kind = ProtoExpert.new("gradplane.aggregation.expert.kind", "no known kind", expert.group.MALFORMED, expert.severity.ERROR)
  e.length = ProtoExpert.new("gradplane.aggregation.expert.length", "the packet is longer or shorter than its header says", expert.group.MALFORMED, expert.severity.ERROR)
  e.MARK = ProtoExpert.new("gradplane.aggregation.expert.MARK", "a value does not fit the window: the lanes are not to be used", expert.group.SEQUENCE, expert.severity.WARN)
  e.DUPLICATE = ProtoExpert.new("gradplane.aggregation.expert.DUPLICATE", "this contribution had been counted before", expert.group.SEQUENCE, expert.severity.NOTE)
  e.STALE = ProtoExpert.new("gradplane.aggregation.expert.STALE", "the slot has moved on to a newer round", expert.group.SEQUENCE, expert.severity.NOTE)
  proto.experts = e

  local function binary16(range)
    local code = range:uint()
    local exponent, fraction = bit.band(bit.rshift(code, 10), 31), bit.band(code, 1023)
    local sign = code >= 32768 and -1 or 1
    if exponent == 31 then return fraction == 0 and sign / 0 or 0 / 0 end
    if exponent == 0 then return sign * fraction * 2 ^ -24 end
    return sign * (1024 + fraction) * 2 ^ (exponent - 25)
  end
  local function bfloat16(range)
    local code = range:uint()
    local exponent, fraction = bit.band(bit.rshift(code, 7), 255), bit.band(code, 127)
    local sign = code >= 32768 and -1 or 1
    if exponent == 255 then return fraction == 0 and sign / 0 or 0 / 0 end
    if exponent == 0 then return sign * fraction * 2 ^ -133 end
    return sign * (128 + fraction) * 2 ^ (exponent - 134)
  end

  function proto.dissector(tvb, pinfo, tree)
    local v = {}
    pinfo.cols.protocol = "aggregation"
    local length = tvb:reported_len()
    local root = tree:add(proto, tvb())
    if tvb:len() < 16 then
      if length < 16 then root:add_proto_expert_info(e.too_short) end
      return tvb:len()
    end
    v.version = tvb(0, 1):bitfield(0, 4)
    root:add(f.version, tvb(0, 1))
    v.kind = tvb(0, 1):bitfield(4, 4)
    root:add(f.kind, tvb(0, 1))
    do
      local item = root:add(f.flags, tvb(1, 1))
      item:add(f.flags_MARK, tvb(1, 1))
      if bit.band(tvb(1, 1):uint(), 1) ~= 0 then item:add_proto_expert_info(e.MARK) end
      item:add(f.flags_DUPLICATE, tvb(1, 1))
      if bit.band(tvb(1, 1):uint(), 2) ~= 0 then item:add_proto_expert_info(e.DUPLICATE) end
      item:add(f.flags_STALE, tvb(1, 1))
      if bit.band(tvb(1, 1):uint(), 4) ~= 0 then item:add_proto_expert_info(e.STALE) end
    end
    v.job = tvb(2, 2):uint()
    root:add(f.job, tvb(2, 2))
    root:add(f.generation, tvb(4, 2))
    v.member = tvb(6, 1):uint()
    root:add(f.member, tvb(6, 1))
    v.scale = tvb(7, 1):uint()
    local meant = root:add(f.scale, tvb(7, 1))
    v.slot = tvb(8, 2):uint()
    root:add(f.slot, tvb(8, 2))
    v.lanes = tvb(10, 1):uint()
    root:add(f.lanes, tvb(10, 1))
    v.mode = tvb(11, 1):uint()
    root:add(f.mode, tvb(11, 1))
    v.round = tvb(12, 4):uint()
    root:add(f.round, tvb(12, 4))
    do
      local text = ({ [1] = "fraction bits", [2] = "first exponent of the job", [3] = "base of the window", [4] = "fraction bits", [5] = "base of the window" })[v.mode]
      local signed = ({ [1] = true, [4] = true })[v.mode] and v.scale > 127 and v.scale - 256 or v.scale
      if text ~= nil then meant:append_text(" (" .. text .. ": " .. signed .. ")") end
    end
    if v.version ~= 1 then
      root:add_proto_expert_info(e.version)
      return tvb:len()
    end
    local kind = ({ [1] = "CONTRIBUTION", [2] = "NULL", [3] = "ACK", [4] = "RESULT", [5] = "COLLECT", [6] = "PENDING", [7] = "RESET" })[v.kind]
    pinfo.cols.info = (kind or "kind " .. v.kind) .. " job " .. v.job .. " round " .. v.round .. " slot " .. v.slot .. " member " .. v.member
    if kind == nil then
      root:add_proto_expert_info(e.kind)
      return tvb:len()
    end
    local at = 16
    local function words(field, name, count, is_list, size, value)
      local node = root
      local fitting = math.max(0, math.min(count, math.floor((tvb:len() - at) / size)))
      if is_list and fitting > 0 then node = root:add(tvb(at, fitting * size), name .. "s (" .. count .. ")") end
      for i = 0, fitting - 1 do
        local range = tvb(at + i * size, size)
        local item = value == nil and node:add(field, range) or node:add(field, range, value(range))
        if is_list then item:prepend_text(string.format("%02d ", i)) end
      end
      at = at + count * size
    end
    if v.kind == 1 then
      if v.mode == 2 then
        words(f.current_tag, "current_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.current_exponent, "current_exponent", 1, false, 1)
      end
      if v.mode == 2 then
        words(f.next_tag, "next_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.next_exponent, "next_exponent", 1, false, 1)
      end
      if v.mode == 3 then
        words(f.lane_fp32, "lane_fp32", v.lanes, true, 4)
      elseif v.mode == 4 then
        words(f.lane_fp16, "lane_fp16", v.lanes, true, 2, binary16)
      elseif v.mode == 5 then
        words(f.lane_bf16, "lane_bf16", v.lanes, true, 2, bfloat16)
      else
        words(f.lane, "lane", v.lanes, true, 4)
      end
    elseif v.kind == 2 then
      if v.mode == 2 then
        words(f.current_tag, "current_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.current_exponent, "current_exponent", 1, false, 1)
      end
      if v.mode == 2 then
        words(f.next_tag, "next_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.next_exponent, "next_exponent", 1, false, 1)
      end
    elseif v.kind == 3 then
      if v.mode == 2 then
        words(f.current_tag, "current_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.current_exponent, "current_exponent", 1, false, 1)
      end
      if v.mode == 2 then
        words(f.next_tag, "next_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.next_exponent, "next_exponent", 1, false, 1)
      end
    elseif v.kind == 4 then
      if v.mode == 2 then
        words(f.current_tag, "current_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.current_exponent, "current_exponent", 1, false, 1)
      end
      if v.mode == 2 then
        words(f.next_tag, "next_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.next_exponent, "next_exponent", 1, false, 1)
      end
      words(f.lane, "lane", v.lanes, true, 4)
    elseif v.kind == 5 then
      if v.mode == 2 then
        words(f.current_tag, "current_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.current_exponent, "current_exponent", 1, false, 1)
      end
      if v.mode == 2 then
        words(f.next_tag, "next_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.next_exponent, "next_exponent", 1, false, 1)
      end
    elseif v.kind == 6 then
      if v.mode == 2 then
        words(f.current_tag, "current_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.current_exponent, "current_exponent", 1, false, 1)
      end
      if v.mode == 2 then
        words(f.next_tag, "next_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.next_exponent, "next_exponent", 1, false, 1)
      end
    elseif v.kind == 7 then
      if v.mode == 2 then
        words(f.current_tag, "current_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.current_exponent, "current_exponent", 1, false, 1)
      end
      if v.mode == 2 then
        words(f.next_tag, "next_tag", 1, false, 3)
      end
      if v.mode == 2 then
        words(f.next_exponent, "next_exponent", 1, false, 1)
      end
    end
    if at ~= length then root:add_proto_expert_info(e.length) end
    return tvb:len()
  end

  DissectorTable.get("udp.port"):add(18256, proto)
end

do
  -- One chunk of one message between a worker and its parameter server.
  local proto = Proto("gradplane.parameter_server", "gradplane parameter server")
  local f = {}
  f.version = ProtoField.uint8("gradplane.parameter_server.version", "version", base.DEC, nil, 0xf0)
  f.kind = ProtoField.uint8("gradplane.parameter_server.kind", "kind", base.DEC, { [1] = "PUSH", [2] = "PULL", [3] = "VALUES", [4] = "FETCH", [5] = "ROW", [6] = "CONFIRM", [7] = "FAILURE", [8] = "LEAVE", [9] = "ACK", [10] = "HEARTBEAT" }, 0x0f, "MessageKind")
  f.member = ProtoField.uint8("gradplane.parameter_server.member", "member", base.DEC, nil, nil, "the worker at one end of the conversation, whichever way the packet goes")
  f.job = ProtoField.uint16("gradplane.parameter_server.job", "job", base.DEC)
  f.round = ProtoField.uint32("gradplane.parameter_server.round", "round", base.DEC, nil, nil, "round that the message is about; 0 where it is about none")
  f.message = ProtoField.uint32("gradplane.parameter_server.message", "message", base.DEC, nil, nil, "number of the message in its direction, a serial number from 0")
  f.chunk = ProtoField.uint16("gradplane.parameter_server.chunk", "chunk", base.DEC, nil, nil, "part of the message")
  f.chunks = ProtoField.uint16("gradplane.parameter_server.chunks", "chunks", base.DEC, nil, nil, "parts of the message; 0 in HEARTBEAT")
  f.key = ProtoField.uint32("gradplane.parameter_server.key", "key")
  f.value = ProtoField.float("gradplane.parameter_server.value", "value")
  f.request = ProtoField.uint32("gradplane.parameter_server.request", "request")
  f.row = ProtoField.uint32("gradplane.parameter_server.row", "row")
  f.lane = ProtoField.float("gradplane.parameter_server.lane", "lane")
  f.lost = ProtoField.uint32("gradplane.parameter_server.lost", "lost")
  f.piece = ProtoField.bytes("gradplane.parameter_server.piece", "part of a message")
  proto.fields = f
  local e = {}
  e.too_short = ProtoExpert.new("gradplane.parameter_server.expert.too_short", "the packet is shorter than its header", expert.group.MALFORMED, expert.severity.ERROR)
  e.version = ProtoExpert.new("gradplane.parameter_server.expert.version", "only version 1 is known; the rest is not dissected", expert.group.MALFORMED, expert.severity.ERROR)
  e.kind = ProtoExpert.new("gradplane.parameter_server.expert.kind", "no known kind", expert.group.MALFORMED, expert.severity.ERROR)
  e.length = ProtoExpert.new("gradplane.parameter_server.expert.length", "the packet is longer or shorter than its header says", expert.group.MALFORMED, expert.severity.ERROR)
  proto.experts = e

  function proto.dissector(tvb, pinfo, tree)
    local v = {}
    pinfo.cols.protocol = "parameter_server"
    local length = tvb:reported_len()
    local root = tree:add(proto, tvb())
    if tvb:len() < 16 then
      if length < 16 then root:add_proto_expert_info(e.too_short) end
      return tvb:len()
    end
    v.version = tvb(0, 1):bitfield(0, 4)
    root:add(f.version, tvb(0, 1))
    v.kind = tvb(0, 1):bitfield(4, 4)
    root:add(f.kind, tvb(0, 1))
    v.member = tvb(1, 1):uint()
    root:add(f.member, tvb(1, 1))
    v.job = tvb(2, 2):uint()
    root:add(f.job, tvb(2, 2))
    v.round = tvb(4, 4):uint()
    root:add(f.round, tvb(4, 4))
    v.message = tvb(8, 4):uint()
    root:add(f.message, tvb(8, 4))
    v.chunk = tvb(12, 2):uint()
    root:add(f.chunk, tvb(12, 2))
    v.chunks = tvb(14, 2):uint()
    root:add(f.chunks, tvb(14, 2))
    if v.version ~= 1 then
      root:add_proto_expert_info(e.version)
      return tvb:len()
    end
    local kind = ({ [1] = "PUSH", [2] = "PULL", [3] = "VALUES", [4] = "FETCH", [5] = "ROW", [6] = "CONFIRM", [7] = "FAILURE", [8] = "LEAVE", [9] = "ACK", [10] = "HEARTBEAT" })[v.kind]
    pinfo.cols.info = (kind or "kind " .. v.kind) .. " job " .. v.job .. " round " .. v.round .. " member " .. v.member .. " message " .. v.message .. " chunk " .. v.chunk
    if kind == nil then
      root:add_proto_expert_info(e.kind)
      return tvb:len()
    end
    if v.chunks > 1 then
      if tvb:len() > 16 then root:add(f.piece, tvb(16)) end
      return tvb:len()
    end
    local at = 16
    local function words(field, name, count, is_list, size, value)
      local node = root
      local fitting = math.max(0, math.min(count, math.floor((tvb:len() - at) / size)))
      if is_list and fitting > 0 then node = root:add(tvb(at, fitting * size), name .. "s (" .. count .. ")") end
      for i = 0, fitting - 1 do
        local range = tvb(at + i * size, size)
        local item = value == nil and node:add(field, range) or node:add(field, range, value(range))
        if is_list then item:prepend_text(string.format("%02d ", i)) end
      end
      at = at + count * size
    end
    if v.kind == 1 then
      words(f.key, "key", math.floor((length - at) / 8), true, 4)
      words(f.value, "value", math.floor((length - at) / 4), true, 4)
    elseif v.kind == 2 then
      words(f.request, "request", 1, false, 4)
      words(f.key, "key", math.floor((length - at) / 4), true, 4)
    elseif v.kind == 3 then
      words(f.request, "request", 1, false, 4)
      words(f.value, "value", math.floor((length - at) / 4), true, 4)
    elseif v.kind == 4 then
      words(f.row, "row", 1, false, 4)
    elseif v.kind == 5 then
      words(f.row, "row", 1, false, 4)
      words(f.lane, "lane", math.floor((length - at) / 4), true, 4)
    elseif v.kind == 7 then
      words(f.lost, "lost", 1, false, 4)
    end
    if at ~= length then root:add_proto_expert_info(e.length) end
    return tvb:len()
  end

  DissectorTable.get("udp.port"):add(18257, proto)
end
