import { inks } from './canvas';

/** Pixels above a picture for the caption of a clip. */
const head = 28;

/**
 * Records the first picture of the page, all layers of it, below a caption; undefined: the page has none, or the
 * browser does not record. The function that it returns ends the clip and saves it as a file.
 */
export function record(caption: () => string): (() => void) | undefined {
  const layers = () => [...(document.querySelector('#main canvas')?.parentElement?.querySelectorAll('canvas') ?? [])];
  const { width, height } = layers()[0] ?? { width: 0, height: 0 };
  if (width === 0 || typeof MediaRecorder === 'undefined') return undefined;
  const film = document.createElement('canvas'),
    c = film.getContext('2d')!,
    colours = inks(),
    chunks: Blob[] = [];
  film.width = width;
  film.height = height + head;
  let frame = 0;
  const draw = () => {
    c.fillStyle = colours.paper;
    c.fillRect(0, 0, film.width, film.height);
    c.fillStyle = colours.ink;
    c.font = `600 16px ${colours.family}`;
    c.fillText(caption(), 10, 20);
    for (const l of layers()) c.drawImage(l, 0, head, width, height);
    frame = requestAnimationFrame(draw);
  };
  draw();
  const recorder = new MediaRecorder(film.captureStream(30));
  recorder.ondataavailable = (e) => chunks.push(e.data);
  recorder.onstop = () => {
    cancelAnimationFrame(frame);
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob(chunks, { type: recorder.mimeType }));
    a.download = `weft-${caption().replace(/[^\w]+/g, '-')}.${recorder.mimeType.includes('mp4') ? 'mp4' : 'webm'}`;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
  };
  recorder.start(1000);
  return () => recorder.state !== 'inactive' && recorder.stop();
}
