import { useQuery } from '@tanstack/react-query'
import { toPicture } from './browser.ts'

/** A text as a QR code. The library that draws it is loaded by the first code. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const drawn = useQuery({ queryKey: ['qr', text], queryFn: async () => (await import('qr')).encodeQR(text, 'svg') })
  return drawn.data === undefined ? null : (
    <img className="qr" src={toPicture(drawn.data)} alt={label} width="240" height="240" />
  )
}
