import { readFileSync } from "node:fs";
import type { ReportSource, SftpServer } from "../model.ts";
import { asBoolean, asText, FILE } from "../settings-values.ts";
import { findHostKeys } from "./known-hosts.ts";

const SERVER_KEYS = [
  ...["host", "port", "user", "key_file", "password_file", "known_hosts_file"],
  ...["reports", "is_removed"],
];
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const PORT = 22;
const PORT_MAX = 65_535;

/** SFTP servers by name, with the directory of each that reports are fetched from. */
export type LoadedServers = ReadonlyMap<
  string,
  { server: SftpServer; source: ReportSource | null }
>;

export function loadServers(value: unknown): LoadedServers {
  const entries = Object.entries(FILE.asObject(value, "servers"));
  return new Map(entries.map(([name, given]) => [name, loadServer(name, given)]));
}

function loadServer(name: string, value: unknown) {
  const path = `servers.${name}`;
  if (!NAME.test(name)) throw FILE.wrong("servers", `has the name ${name}: use a-z, 0-9`);
  const given = FILE.asObject(value, path, SERVER_KEYS);
  const optional = (key: string) =>
    given[key] === undefined ? null : asText(given[key], `${path}.${key}`);
  const server: SftpServer = {
    host: asText(given.host, `${path}.host`),
    port: asPort(given.port ?? PORT, `${path}.port`),
    user: asText(given.user, `${path}.user`),
    key_file: optional("key_file"),
    password_file: optional("password_file"),
    known_hosts_file: asText(given.known_hosts_file, `${path}.known_hosts_file`),
  };
  if (server.key_file === null && server.password_file === null) {
    throw FILE.wrong(path, "must have a key_file or a password_file");
  }
  requireReadable(server, path);
  const folder = optional("reports");
  const is_removed = asBoolean(given.is_removed ?? false, `${path}.is_removed`);
  const source = folder === null ? null : { name, server, folder: asFolder(folder), is_removed };
  return { server, source };
}

/** What is missing is said at the start, and not at the first cut-off time. */
function requireReadable(server: SftpServer, path: string): void {
  for (const file of [server.key_file, server.password_file, server.known_hosts_file]) {
    if (file !== null) readFileSync(file);
  }
  const hosts = readFileSync(server.known_hosts_file, "utf8");
  if (findHostKeys(hosts, server.host, server.port).length > 0) return;
  throw FILE.wrong(`${path}.known_hosts_file`, `has no key of ${server.host}`);
}

/** A directory of a server, without a slash at its end. */
export function asFolder(text: string): string {
  return text.length > 1 ? text.replace(/\/$/, "") : text;
}

function asPort(value: unknown, path: string): number {
  const is_port = Number.isInteger(value) && Number(value) > 0 && Number(value) <= PORT_MAX;
  if (is_port) return Number(value);
  throw FILE.wrong(path, "must be a port");
}
