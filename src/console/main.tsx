import { createRoot } from 'react-dom/client'
import { App } from './shared/app.tsx'

/** The content security policy allows only styles with this nonce. */
const nonce = document.querySelector('meta[name="nonce"]')?.getAttribute('content') ?? ''

/** Read by the library that stops a page from scrolling under a dialog. */
Object.assign(globalThis, { __webpack_nonce__: nonce })

const root = document.getElementById('console')
if (root) createRoot(root).render(<App nonce={nonce} />)
