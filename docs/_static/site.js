/* What the theme leaves to do: boxes that scroll take the keyboard's focus, and landmarks have names. */
document.querySelectorAll("pre, .table-wrapper").forEach((box) => { box.tabIndex = 0; });
document.querySelectorAll(".caption[role=heading]").forEach((caption) => { caption.ariaLevel = "2"; });
document.querySelectorAll("aside.sidebar-drawer").forEach((aside) => { aside.ariaLabel = "All pages"; });
document.querySelectorAll("aside.toc-drawer").forEach((aside) => { aside.ariaLabel = "This page"; });
