import { useEffect, useRef, useState } from "react";
import { fill, texts } from "../texts.ts";

const JPEG_QUALITY = 0.92;
const WANTED = { width: { ideal: 1920 }, height: { ideal: 1080 } };

/** The live picture of the camera with a frame to aim at, then the photo before it is used. */
export function Camera(props: {
  title: string;
  is_face: boolean;
  onPhoto: (photo: Blob) => void;
  onClose: () => void;
  /** The camera cannot be had, and why. */
  onFault: (words: string) => void;
}) {
  const { title, is_face, onPhoto, onClose, onFault } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const [is_live, setLive] = useState(false);
  const [photo, setPhoto] = useState<{ blob: Blob; url: string } | null>(null);
  const report = useRef({ onClose, onFault });
  report.current = { onClose, onFault };

  useEffect(() => {
    let stream: MediaStream | null = null;
    let is_gone = false;
    dialog.current?.showModal();
    const asked = navigator.mediaDevices.getUserMedia({
      video: { ...WANTED, facingMode: is_face ? "user" : "environment" },
    });
    asked.then(
      (given) => {
        stream = given;
        if (is_gone) return stop(stream);
        if (video.current) video.current.srcObject = given;
      },
      (error: DOMException) => {
        if (is_gone) return;
        const is_refused = error.name === "NotAllowedError" || error.name === "SecurityError";
        report.current.onClose();
        report.current.onFault(is_refused ? texts.camera.refused : texts.camera.absent);
      },
    );
    return () => {
      is_gone = true;
      if (stream) stop(stream);
    };
  }, [is_face]);

  const photo_url = photo?.url;
  useEffect(() => () => void (photo_url && URL.revokeObjectURL(photo_url)), [photo_url]);

  function shoot() {
    const from = video.current;
    if (!from) return;
    const canvas = document.createElement("canvas");
    canvas.width = from.videoWidth;
    canvas.height = from.videoHeight;
    canvas.getContext("2d")?.drawImage(from, 0, 0);
    canvas.toBlob(
      (blob) => blob && setPhoto({ blob, url: URL.createObjectURL(blob) }),
      "image/jpeg",
      JPEG_QUALITY,
    );
  }

  function use() {
    if (photo) onPhoto(photo.blob);
    onClose();
  }

  const guide = is_face ? texts.camera.guide_face : texts.camera.guide_document;
  const words = photo ? texts.camera.check : is_live ? guide : texts.camera.starting;
  return (
    <dialog ref={dialog} className="camera" aria-labelledby="camera-title" onClose={onClose}>
      <h2 id="camera-title">{fill(texts.camera.title, { file: title })}</h2>
      <div className={is_face ? "viewfinder face" : "viewfinder"}>
        <video
          ref={video}
          autoPlay
          playsInline
          muted
          hidden={photo !== null}
          aria-label={texts.camera.live}
          onLoadedData={() => setLive(true)}
        />
        {photo && <img src={photo.url} alt={texts.camera.result} />}
        {!photo && is_live && <span className="aim" aria-hidden="true" />}
      </div>
      <p role="status">{words}</p>
      <div className="buttons">
        {photo ? (
          <>
            <button type="button" className="primary" onClick={use}>
              {texts.camera.use}
            </button>
            <button type="button" className="plain" onClick={() => setPhoto(null)}>
              {texts.camera.again}
            </button>
          </>
        ) : (
          <button type="button" className="primary" disabled={!is_live} onClick={shoot}>
            {texts.camera.shoot}
          </button>
        )}
        <button type="button" className="quiet" onClick={() => dialog.current?.close()}>
          {texts.camera.cancel}
        </button>
      </div>
    </dialog>
  );
}

/** The light beside the lens goes out only when every track is stopped. */
function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}
