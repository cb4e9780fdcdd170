/** The same server and user, another database. */
export function urlOfDatabase(server_url: string, name: string): string {
  const url = new URL(server_url);
  url.pathname = `/${name}`;
  return url.href;
}
