import { Alert, Button, Group } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, messageOf } from "../../api.ts";
import { StatusChip } from "../../parts/status-chip.tsx";
import type { Payout } from "./payout.ts";

/** The document that explains the payout, and the file on request: opening it is logged. */
export function PayoutDocument({ payout }: { payout: Payout }) {
  const { offramp, document_type } = payout;
  const { supporting_document } = offramp;
  return (
    <section className="card facts" aria-label="Document">
      <Group justify="space-between">
        <h2>Document</h2>
        {supporting_document && <StatusChip status={supporting_document.status} />}
      </Group>
      {!supporting_document && <p className="none">None attached.</p>}
      {supporting_document && !document_type && (
        <p className="none">It is not fetched from its address yet.</p>
      )}
      {document_type && (
        <Preview key={offramp.updated_at} id={offramp.id} is_pdf={document_type === "pdf"} />
      )}
    </section>
  );
}

function Preview({ id, is_pdf }: { id: string; is_pdf: boolean }) {
  const load = useMutation({
    mutationFn: async () => {
      const file = await api.offramps.documents.download(id);
      return URL.createObjectURL(await file.blob());
    },
  });
  const url = load.data;
  useEffect(() => () => (url ? URL.revokeObjectURL(url) : undefined), [url]);
  if (!url) {
    return (
      <>
        <Button variant="default" size="xs" loading={load.isPending} onClick={() => load.mutate()}>
          Show the {is_pdf ? "PDF" : "picture"}
        </Button>
        {load.isError && (
          <Alert color="red" variant="light" mt="xs" role="alert">
            {messageOf(load.error)}
          </Alert>
        )}
      </>
    );
  }
  if (is_pdf) {
    return (
      <Group gap="md">
        <a href={url} target="_blank" rel="noreferrer">
          Open the PDF
        </a>
        <a href={url} download={`${id}.pdf`}>
          Download
        </a>
      </Group>
    );
  }
  return (
    <a href={url} target="_blank" rel="noreferrer">
      <img className="preview" src={url} alt="The attached document" />
    </a>
  );
}
