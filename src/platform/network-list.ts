import { BlockList, isIPv6 } from "node:net";

/** IP addresses and networks such as `203.0.113.0/24`, which were checked before. */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    if (prefix === undefined) list.addAddress(address, versionOf(address));
    else list.addSubnet(address, Number(prefix), versionOf(address));
  }
  return list;
}

export function isInList(list: BlockList, address: string): boolean {
  return list.check(address, versionOf(address));
}

function versionOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
