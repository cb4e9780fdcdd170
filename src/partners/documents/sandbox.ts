import { Readable } from "node:stream";
import type { DocumentSource } from "./port.ts";
import { SAMPLE_PDF } from "./sample-pdf.ts";

/** Hosts under `.test` serve a sample without any network; all others are fetched normally. */
export function createSandboxDocuments(internet: DocumentSource): DocumentSource {
  return {
    refuse: (url) => (isSampleUrl(url) ? null : internet.refuse(url)),
    fetch: async (request) => {
      if (!isSampleUrl(request.url)) return internet.fetch(request);
      await request.take(Readable.from([SAMPLE_PDF]), "application/pdf");
      return null;
    },
  };
}

function isSampleUrl(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? "";
  return host === "test" || host.endsWith(".test");
}
