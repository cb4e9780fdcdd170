import { ActionIcon, Group, Modal, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { DocumentPreview } from "../../parts/document-preview.tsx";
import { Icon, type IconName } from "../../parts/icons.tsx";
import { Moment } from "../../parts/moment.tsx";
import { filePath, inWords, loadFile, type Review, type ReviewFile } from "./review.ts";

const ZOOMS = [1, 1.5, 2, 3, 4] as const;
const KILOBYTE = 1024;

const kilobytes = ({ size }: ReviewFile) => Math.ceil(size / KILOBYTE);

/** Documents and selfie beside each other; each opens in full. */
export function Files({ review }: { review: Review }) {
  const [opened, open] = useState<ReviewFile | null>(null);
  if (review.files.length === 0) {
    const text = review.are_files_deleted
      ? "The files were deleted after the retention period."
      : "No files were submitted.";
    return <p className="card calm">{text}</p>;
  }
  return (
    <div className="review-files">
      {review.files.map((file) => (
        <figure key={file.id} className="card review-file">
          <UnstyledButton
            aria-label={`Enlarge ${inWords(file.slot).toLowerCase()}`}
            onClick={() => open(file)}
          >
            {file.type === "pdf" ? (
              <span className="review-pdf">
                <Icon name="invoices" />
                Enlarge {inWords(file.slot).toLowerCase()}
              </span>
            ) : (
              <img src={filePath(review, file)} alt={inWords(file.slot)} />
            )}
          </UnstyledButton>
          <figcaption className="quiet">
            {inWords(file.slot)}, {file.type.toUpperCase()}, {kilobytes(file)} kB,{" "}
            <Moment at={file.uploaded_at} />
          </figcaption>
        </figure>
      ))}
      {opened && <Viewer review={review} file={opened} onClose={() => open(null)} />}
    </div>
  );
}

type ViewerProps = { review: Review; file: ReviewFile };

function Viewer({ onClose, ...shown }: ViewerProps & { onClose: () => void }) {
  const { review, file } = shown;
  return (
    <Modal opened fullScreen onClose={onClose} title={inWords(file.slot)}>
      {file.type === "pdf" ? (
        <div className="review-document">
          <DocumentPreview
            name={file.slot}
            type="pdf"
            load={() => loadFile(review, file)}
            is_opened
          />
        </div>
      ) : (
        <Picture {...shown} />
      )}
    </Modal>
  );
}

function Picture({ review, file }: ViewerProps) {
  const [zoom, setZoom] = useState(0);
  const [turns, setTurns] = useState(0);
  const button = (label: string, icon: IconName, onClick: () => void, disabled = false) => (
    <ActionIcon variant="default" size="lg" aria-label={label} onClick={onClick} {...{ disabled }}>
      <Icon name={icon} />
    </ActionIcon>
  );
  const last = ZOOMS.length - 1;
  return (
    <>
      <Group gap="xs" mb="sm">
        {button("Smaller", "minus", () => setZoom(Math.max(0, zoom - 1)), zoom === 0)}
        {button("Larger", "plus", () => setZoom(Math.min(last, zoom + 1)), zoom === last)}
        {button("Turn to the right", "work", () => setTurns((turns + 1) % 4))}
        <span className="quiet" role="status">
          {ZOOMS[zoom]! * 100} %
        </span>
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also with the keyboard. */}
      <section className="review-viewer" aria-label="Picture" tabIndex={0}>
        <img
          src={filePath(review, file)}
          alt={inWords(file.slot)}
          style={{ width: `${ZOOMS[zoom]! * 100}%`, rotate: `${turns * 90}deg` }}
        />
      </section>
    </>
  );
}
