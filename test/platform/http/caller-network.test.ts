import { expect, it } from "vitest";
import { callerNetwork } from "../../../src/platform/http/caller-network.ts";

it.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ["1:2:3:4:5:6:192.0.2.1", "1:2:3:4::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  [undefined, ""],
])("limits count %s by %s", (address, network) => {
  expect(callerNetwork(address)).toBe(network);
});
