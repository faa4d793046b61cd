import { createRoot } from 'react-dom/client'
import { App } from './shared/app.tsx'

/** Styles that are made while the page runs carry this page's nonce; the policy lets no others in. */
const nonce = document.querySelector('meta[name="nonce"]')?.getAttribute('content') ?? ''

/** Where the library that keeps a page from scrolling under a dialog looks for it. */
Object.assign(globalThis, { __webpack_nonce__: nonce })

const place = document.getElementById('console')
if (place) createRoot(place).render(<App nonce={nonce} />)
