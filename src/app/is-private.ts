import { isLoopbackHost } from "../partners/outbound-http/address-policy.ts";
import type { Config } from "../platform/config/config.ts";

/**
 * Whether only programs on this machine reach the server: a sandbox on loopback, without a public
 * URL or a trusted proxy.
 */
export function isPrivate({ mode, host, public_url, trusted_proxies }: Config): boolean {
  return (
    mode === "sandbox" &&
    isLoopbackHost(host) &&
    public_url === undefined &&
    trusted_proxies.length === 0
  );
}
