// Stands where Nsight would: a library that NVTX loads (NVTX_INJECTION64_PATH) and that writes down domains and ranges.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

namespace {

int NVTX_API push(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
    std::fprintf(stderr, "nvtx push %s\n", range->messageType == NVTX_MESSAGE_TYPE_ASCII ? range->message.ascii : "?");
    return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
    std::fprintf(stderr, "nvtx pop\n");
    return 0;
}
nvtxDomainHandle_t NVTX_API create(const char* name) {
    std::fprintf(stderr, "nvtx domain %s\n", name);
    static char handle;
    return reinterpret_cast<nvtxDomainHandle_t>(&handle);
}

template <class Function>
void set(NvtxFunctionTable table, unsigned index, Function* function) {
    *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" NVTX_DYNAMIC_EXPORT int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
    set(table, NVTX_CBID_CORE2_DomainCreateA, create);
    set(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
    set(table, NVTX_CBID_CORE2_DomainRangePop, pop);
    return 1;
}
