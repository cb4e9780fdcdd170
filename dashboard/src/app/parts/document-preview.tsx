import { Alert, Button, Group } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { messageOf } from "../api.ts";

/** A file, usually on request: opening it is logged. */
export function DocumentPreview(props: {
  /** Of the file, without its ending. */
  name: string;
  type: "pdf" | "jpg" | "png";
  load: () => Promise<Blob>;
  /** Whoever opened this asked for the file. */
  is_opened?: boolean;
}) {
  const { name, type, load, is_opened = false } = props;
  const loading = useMutation({ mutationFn: async () => URL.createObjectURL(await load()) });
  const url = loading.data;
  const { mutate } = loading;
  useEffect(() => {
    if (is_opened) mutate();
  }, [is_opened, mutate]);
  useEffect(() => () => (url ? URL.revokeObjectURL(url) : undefined), [url]);
  if (!url) {
    return (
      <>
        <Button
          variant="default"
          size="xs"
          loading={loading.isPending}
          onClick={() => loading.mutate()}
        >
          Show the {type === "pdf" ? "PDF" : "picture"}
        </Button>
        {loading.isError && (
          <Alert color="red" variant="light" mt="xs" role="alert">
            {messageOf(loading.error)}
          </Alert>
        )}
      </>
    );
  }
  if (type === "pdf") {
    return (
      <>
        <iframe className="preview-pdf" src={url} title="The attached document" />
        <Group gap="md">
          <a href={url} target="_blank" rel="noreferrer">
            Open in a new tab
          </a>
          <a href={url} download={`${name}.pdf`}>
            Download
          </a>
        </Group>
      </>
    );
  }
  return (
    <a href={url} target="_blank" rel="noreferrer">
      <img className="preview" src={url} alt="The attached document" />
    </a>
  );
}
