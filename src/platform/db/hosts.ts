/** Where the database can be: PostgreSQL's own URL with one host or several. */
type DatabaseHosts = {
  /** One URL for each host, in the order in which they are tried. */
  urls: string[];
  /** Only a server that accepts writes will do; a standby is passed over. */
  must_write: boolean;
};

const PARTS = /^(postgres(?:ql)?:\/\/)([^/?#]*)([^?#]*)(?:\?([^#]*))?$/;
const ATTRIBUTE = "target_session_attrs";
const WRITING = ["read-write", "primary"];

/**
 * `postgres://user:password@one:5432,two:5432/database?target_session_attrs=read-write`: the form
 * that PostgreSQL's own programs read, and the driver does not. Null if it is no such URL. Of
 * several hosts, the one that accepts writes is meant, unless the URL says `any`.
 */
export function readHosts(url: string): DatabaseHosts | null {
  const [, scheme, authority = "", path = "", query = ""] = PARTS.exec(url) ?? [];
  if (!scheme) return null;
  const at = authority.lastIndexOf("@") + 1;
  const [user, hosts] = [authority.slice(0, at), authority.slice(at).split(",")];
  const parameters = new URLSearchParams(query);
  const attribute = parameters.get(ATTRIBUTE) ?? (hosts.length > 1 ? "read-write" : "any");
  if (attribute !== "any" && !WRITING.includes(attribute)) return null;
  parameters.delete(ATTRIBUTE);
  const rest = `${path}${parameters.size > 0 ? `?${parameters}` : ""}`;
  const urls = hosts.map((host) => `${scheme}${user}${host}${rest}`);
  if (!urls.every((one) => URL.canParse(one)) || (urls.length > 1 && hosts.includes(""))) {
    return null;
  }
  return { urls, must_write: attribute !== "any" };
}

/** For people: `one:5432, two:5432`, without the password. */
export function describeHosts(url: string): string {
  const { urls } = readHosts(url) ?? { urls: [] };
  const places = urls.map((one) => {
    const { hostname, port } = new URL(one);
    return `${hostname}:${port || 5432}`;
  });
  return places.join(", ");
}
