import { ActionIcon, Group, Modal, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { Icon, type IconName } from "../../parts/icons.tsx";
import { Moment } from "../../parts/moment.tsx";
import { filePath, inWords, type Review, type ReviewFile } from "./review.ts";

const ZOOMS = [1, 1.5, 2, 3, 4] as const;
const KILOBYTE = 1024;

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
          {file.type === "pdf" ? (
            <a className="review-pdf" href={filePath(review, file)}>
              <Icon name="download" />
              Download the PDF of {inWords(file.slot).toLowerCase()}
            </a>
          ) : (
            <UnstyledButton
              aria-label={`Enlarge ${inWords(file.slot).toLowerCase()}`}
              onClick={() => open(file)}
            >
              <img src={filePath(review, file)} alt={inWords(file.slot)} />
            </UnstyledButton>
          )}
          <figcaption className="quiet">
            {inWords(file.slot)}, {Math.ceil(file.size / KILOBYTE)} kB,{" "}
            <Moment at={file.uploaded_at} />
          </figcaption>
        </figure>
      ))}
      {opened && <Viewer review={review} file={opened} onClose={() => open(null)} />}
    </div>
  );
}

function Viewer(props: { review: Review; file: ReviewFile; onClose: () => void }) {
  const { review, file, onClose } = props;
  const [zoom, setZoom] = useState(0);
  const [turns, setTurns] = useState(0);
  const button = (label: string, icon: IconName, onClick: () => void, disabled = false) => (
    <ActionIcon variant="default" size="lg" aria-label={label} onClick={onClick} {...{ disabled }}>
      <Icon name={icon} />
    </ActionIcon>
  );
  const last = ZOOMS.length - 1;
  return (
    <Modal opened fullScreen onClose={onClose} title={inWords(file.slot)}>
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
    </Modal>
  );
}
