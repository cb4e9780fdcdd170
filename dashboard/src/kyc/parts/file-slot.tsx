import { type DragEvent, useId, useRef, useState } from "react";
import { useSession } from "../session.ts";
import type { FileSlotName } from "../state.ts";
import { fill, texts } from "../texts.ts";
import { Camera } from "./camera.tsx";
import { FilePreview } from "./file-preview.tsx";
import { Icon } from "./icons.tsx";
import { Notice } from "./notice.tsx";
import { useUpload } from "./use-upload.ts";

type Props = {
  slot: FileSlotName;
  title: string;
  /** Said by the step when the person goes on without the file. */
  missing: boolean;
};

/** On a phone its own camera program takes the sharper picture of a document. */
const is_touch = matchMedia("(pointer: coarse)").matches;
const has_live_camera = Boolean(navigator.mediaDevices?.getUserMedia);

/** A place for one photo or file: take it, choose it, drop it; see it, replace it, remove it. */
export function FileSlot({ slot, title, missing }: Props) {
  const { state, is_lost } = useSession();
  const file = state.files[slot];
  const { upload, choose, remove, cancel, retry, refuse } = useUpload(slot, title);
  const [is_camera_open, setCameraOpen] = useState(false);
  const [is_replacing, setReplacing] = useState(false);
  const id = useId();
  const chooser = useRef<HTMLInputElement>(null);
  const phone_camera = useRef<HTMLInputElement>(null);
  const takes_pdf = file?.accepts.includes("application/pdf") ?? false;
  const uses_live_camera = has_live_camera && (slot === "selfie" || !is_touch);
  const is_missing = missing && !file?.uploaded && upload.share === null;
  const problem = upload.problem ?? (is_missing ? texts.problems.file_missing : null);
  const section = useRef<HTMLElement>(null);
  /** The button that was used is about to go: the keyboard stays in this place all the same. */
  const stayHere = () => section.current?.focus();

  const take = () => (uses_live_camera ? setCameraOpen(true) : phone_camera.current?.click());
  const picked = (blob: Blob) => {
    stayHere();
    setReplacing(false);
    void choose(blob);
  };
  const chosen = (input: HTMLInputElement) => {
    const [file] = input.files ?? [];
    if (file) picked(file);
    // Emptied, so that the same file may be chosen again.
    input.value = "";
  };
  const replace = (is_wanted: boolean) => {
    stayHere();
    setReplacing(is_wanted);
  };
  const drop = () => {
    stayHere();
    void remove();
  };

  return (
    <section ref={section} className="slot" id={`slot-${slot}`} aria-labelledby={id} tabIndex={-1}>
      <h2 id={id}>{title}</h2>
      <DropZone onDrop={picked} is_filled={Boolean(file?.uploaded)}>
        {upload.share !== null ? (
          <Sending {...{ title, cancel, is_lost }} share={upload.share} url={upload.preview_url} />
        ) : file?.uploaded && !is_replacing ? (
          <>
            <FilePreview slot={slot} title={title} file={file.uploaded} url={upload.preview_url} />
            <div className="slot-actions">
              <button type="button" className="plain" onClick={() => replace(true)}>
                <Icon name="upload" />
                {texts.files.replace}
              </button>
              <button type="button" className="plain" onClick={drop}>
                <Icon name="cross" />
                {texts.files.remove}
              </button>
            </div>
          </>
        ) : (
          <>
            <ul className="tips">
              {(texts.files.tips[slot] ?? []).map((tip) => (
                <li key={tip}>{tip}</li>
              ))}
            </ul>
            <div className="slot-actions choose">
              {(uses_live_camera || is_touch) && (
                <button type="button" className="plain" onClick={take}>
                  <Icon name="camera" />
                  {is_touch ? texts.files.take_photo : texts.files.use_camera}
                </button>
              )}
              <button type="button" className="plain" onClick={() => chooser.current?.click()}>
                <Icon name="upload" />
                {texts.files.choose}
              </button>
              {file?.uploaded ? (
                <button type="button" className="quiet" onClick={() => replace(false)}>
                  {texts.files.keep}
                </button>
              ) : (
                !is_touch && <span className="muted">{texts.files.drop}</span>
              )}
            </div>
            <p className="hint">{takes_pdf ? texts.files.limits : texts.files.limits_photo}</p>
          </>
        )}
      </DropZone>
      <div role="alert">
        {problem && (
          <Notice kind="alert" icon="alert">
            <p>{problem}</p>
            {upload.can_retry && (
              <button type="button" className="plain" onClick={retry}>
                {texts.files.retry}
              </button>
            )}
          </Notice>
        )}
      </div>
      <input
        ref={chooser}
        type="file"
        hidden
        data-slot={slot}
        accept={(file?.accepts ?? []).join(",")}
        onChange={(event) => chosen(event.target)}
      />
      <input
        ref={phone_camera}
        type="file"
        hidden
        accept="image/jpeg,image/png"
        capture={slot === "selfie" ? "user" : "environment"}
        onChange={(event) => chosen(event.target)}
      />
      {is_camera_open && (
        <Camera
          title={title}
          is_face={slot === "selfie"}
          onClose={() => setCameraOpen(false)}
          onPhoto={picked}
          onFault={refuse}
        />
      )}
    </section>
  );
}

function Sending(props: {
  title: string;
  share: number;
  url: string | null;
  is_lost: boolean;
  cancel: () => void;
}) {
  const { title, share, url, is_lost, cancel } = props;
  const percent = `${Math.round(share * 100)}`;
  return (
    <div className="sending">
      {url && <img src={url} alt={fill(texts.files.preview_of, { file: title })} />}
      <progress
        max={1}
        value={is_lost ? 0 : share}
        aria-label={fill(texts.files.progress_label, { file: title })}
      />
      <div className="slot-actions">
        <span>{is_lost ? texts.files.waiting : fill(texts.files.uploading, { percent })}</span>
        <button type="button" className="plain" onClick={cancel}>
          {texts.files.cancel}
        </button>
      </div>
    </div>
  );
}

function DropZone(props: {
  onDrop: (file: File) => void;
  is_filled: boolean;
  children: React.ReactNode;
}) {
  const { onDrop, is_filled, children } = props;
  const [is_over, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer.files;
    if (file) onDrop(file);
  };
  const look = is_over ? "drop-zone over" : is_filled ? "drop-zone filled" : "drop-zone";
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: whoever has no mouse uses the buttons.
    <div className={look} onDragOver={over} onDragLeave={() => setOver(false)} onDrop={drop}>
      {children}
    </div>
  );
}
